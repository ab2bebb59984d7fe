import { normalize } from "node:path";
import type { TokenBinding } from "@bunting/sync-client";
import { AgentError } from "../agent-error.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { SourceFields } from "./source-fields.js";

/** Options for sources of provider grpc whose selector names a FeatureFlag; the source's own come first; "" for none. */
export interface SharedCredentials {
  readonly tokenFile: string;
  readonly caFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
  /** Tokens are sent over connections in plaintext too. */
  readonly tokenOverPlaintext: boolean;
}

export const noSharedCredentials: SharedCredentials = {
  tokenFile: "",
  caFile: "",
  clientCertFile: "",
  clientKeyFile: "",
  tokenOverPlaintext: false,
};

export interface GrpcCredentials extends Pick<
  GrpcSourceConfig,
  "isTls" | "certPath" | "clientCertPath" | "clientKeyPath" | "tokenFile" | "tokenBinding" | "headers"
> {
  /** What the author of the options should know. */
  readonly warnings: readonly string[];
}

/** Where a source connects to. */
export interface GrpcPlace {
  readonly isTopic: boolean;
  readonly isLocal: boolean;
  readonly host: string;
}

/**
 * The shared options, which something else may have set for any Pod, apply only to sources that ask for a FeatureFlag by name, as one asks a proxy.
 * That does not prove that a proxy is there. So the shared token is sent only where the server's certificate comes from the shared authorities: any
 * server may have one of its own authority, or of one that Node trusts.
 *
 * A token is sent in plaintext only if an option asks for it: who can read the connection could act as the Pod until the token expires. The source
 * works without the token otherwise, because the proxy may still let anybody in.
 *
 * @param isTopic the selector names a FeatureFlag
 * @param isLocal the connection is a unix socket
 * @param host where the connection goes to, with its port
 * @throws AgentError OPTION_INVALID
 */
export function grpcCredentials(
  fields: SourceFields,
  { isTopic, isLocal, host }: GrpcPlace,
  shared: SharedCredentials,
  where: string,
): GrpcCredentials {
  const { authHeader, bearerToken, certPath, clientCertPath, clientKeyPath } = fields;
  checkFields(fields, where);
  const given = isTopic ? shared : noSharedCredentials;
  const isSharedTls = !isLocal && (given.caFile !== "" || given.clientCertFile !== "");
  const isTls = fields.tls || fields.uri.startsWith("grpcs://") || isSharedTls;
  const hasOwnPair = clientCertPath !== "";
  const transport = {
    isTls,
    certPath: certPath === "" && isTls ? given.caFile : certPath,
    clientCertPath: hasOwnPair || !isTls ? clientCertPath : given.clientCertFile,
    clientKeyPath: hasOwnPair || !isTls ? clientKeyPath : given.clientKeyFile,
  };

  const warnings: string[] = [];
  const authorization = bearerToken === "" ? authHeader : `Bearer ${bearerToken}`;
  const isFixed = authorization !== "" || fields.headers["authorization"] !== undefined;
  const isPlaintext = !isTls && !isLocal;
  const tokenBinding = tokenBindingOf(fields, `${isTls ? "https" : "http"}://${host}`, where);
  let { tokenFile } = fields;
  if (tokenFile === "" && !isFixed && given.tokenFile !== "") {
    const doubt = isPlaintext || isLocal ? undefined : doubtOfServer(fields, given);
    if (doubt === undefined) tokenFile = given.tokenFile;
    else warnings.push(`the token of ${given.tokenFile} is not sent, because ${doubt}`);
  }
  if (isPlaintext) {
    for (const name of ["certPath", "clientCertPath"] as const)
      if (fields[name] !== "")
        warnings.push(`"${name}" has no effect without "tls": the connection is in plaintext`);
    if (fields.headers["authorization"] !== undefined)
      warnings.push(
        'the header "authorization" is sent in plaintext: set "tls", unless the network is trusted',
      );
  }
  const isAllowed = shared.tokenOverPlaintext || tokenBinding !== undefined;
  if (isPlaintext && !isAllowed && (authorization !== "" || tokenFile !== "")) {
    warnings.push(plaintextWarning(tokenFile, 'set "tls" or --ca-file'));
    return { ...transport, tokenFile: "", tokenBinding, headers: fields.headers, warnings };
  }
  const headers = authorization === "" ? fields.headers : { ...fields.headers, authorization };
  return { ...transport, tokenFile, tokenBinding, headers, warnings };
}

/**
 * @param tokenFile "" for a token that is written in the source
 * @param remedy how the source gets TLS
 */
export function plaintextWarning(tokenFile: string, remedy: string): string {
  const token = tokenFile === "" ? "the token" : `the token of ${tokenFile}`;
  return `the connection is in plaintext, so ${token} is not sent: ${remedy}, or send it anyway with --token-over-plaintext`;
}

/** @throws AgentError OPTION_INVALID if there is no token of which the file could say for whom it is */
export function tokenBindingOf(
  { tokenFile, tokenHostsFile: hostsFile }: Pick<SourceFields, "tokenFile" | "tokenHostsFile">,
  server: string,
  where: string,
): TokenBinding | undefined {
  if (hostsFile === "") return undefined;
  if (tokenFile !== "") return { hostsFile, server };
  throw AgentError.optionInvalid(
    `${where}: "tokenHostsFile" says for whom a "tokenFile" is, and there is none`,
  );
}

/** Why a server with TLS may be another than the shared token is meant for. */
function doubtOfServer(
  { certPath }: SourceFields,
  { caFile, tokenOverPlaintext }: SharedCredentials,
): string | undefined {
  if (certPath !== "")
    return 'the source has its own "certPath": leave that to --ca-file, or set "tokenFile" in the source';
  if (caFile !== "" || tokenOverPlaintext) return undefined;
  return 'without --ca-file any server with a public certificate is trusted: set --ca-file, or "tokenFile" in the source';
}

/** What the author of the options should know of the first of these files that has a token for the API server; undefined if none has. */
export function apiServerTokenWarning(tokenFiles: readonly string[]): string | undefined {
  const file = tokenFiles.find((path) => apiServerTokens.test(normalize(path)));
  return (
    file &&
    `${file} is the Pod's token for the API server, and whoever receives it can act as the Pod there: mount a token with the audience of the proxy, and name that`
  );
}

const apiServerTokens = /^(\/var)?\/run\/secrets\/kubernetes\.io\//;

/** @throws AgentError OPTION_INVALID if only one of the two files is named */
export function checkSharedCredentials({ clientCertFile, clientKeyFile }: SharedCredentials): void {
  checkPair(clientCertFile, clientKeyFile, ["--client-cert-file", "--client-key-file"]);
}

function checkFields(
  { authHeader, bearerToken, tokenFile, clientCertPath, clientKeyPath, headers }: SourceFields,
  where: string,
): void {
  const ways = [
    ...(authHeader === "" ? [] : ['"authHeader"']),
    ...(bearerToken === "" ? [] : ['"bearerToken"']),
    ...(tokenFile === "" ? [] : ['"tokenFile"']),
    ...(headers["authorization"] === undefined ? [] : ['the header "authorization"']),
  ];
  if (ways.length > 1)
    throw AgentError.optionInvalid(
      `${where}: both ${ways.slice(0, 2).join(" and ")} are set: only one of them can be sent`,
    );
  checkPair(clientCertPath, clientKeyPath, ['"clientCertPath"', '"clientKeyPath"'], `${where}: `);
}

function checkPair(cert: string, key: string, names: readonly [cert: string, key: string], place = ""): void {
  if ((cert === "") === (key === "")) return;
  const [set, missing] = cert === "" ? [names[1], names[0]] : names;
  throw AgentError.optionInvalid(
    `${place}a client certificate needs its private key, and only ${set} is set: set ${missing} too, or neither`,
  );
}
