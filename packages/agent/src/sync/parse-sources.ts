import { parseAllowedHost } from "@bunting/outbound/hosts";
import { parseTopicSelector, ProtocolError, topicOf, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import { JsonSyntaxError, parseJson } from "../json-syntax.js";
import type { FileSourceConfig, KubernetesSourceConfig, SourceConfig } from "./source-config.js";
import { grpcConfig, type SourceContext } from "./grpc-config.js";
import {
  apiServerTokenWarning,
  checkSharedCredentials,
  noSharedCredentials,
  type SharedCredentials,
} from "./grpc-credentials.js";
import { httpConfig, httpFields } from "./http-config.js";
import { remoteConfig, remoteFields } from "./remote-config.js";
import {
  readSourceFields,
  sourceFieldNames,
  type SourceFieldName,
  type SourceFields,
} from "./source-fields.js";

/** The fields that each kind of source uses, besides `uri` and `provider`. */
const usedFields: Readonly<
  Record<"file" | "dir" | "grpc" | "http" | "kubernetes" | "remote", readonly SourceFieldName[]>
> = {
  file: [],
  dir: [],
  grpc: [
    "selector",
    "providerID",
    "tls",
    "certPath",
    "clientCertPath",
    "clientKeyPath",
    "authHeader",
    "bearerToken",
    "tokenFile",
    "tokenHostsFile",
    "headers",
    "maxMsgSize",
    "incrementalUpdates",
  ],
  http: httpFields,
  kubernetes: [],
  remote: remoteFields,
};

/** The kind of source for each provider: those of flagd, and `remote`. It is a Map, because an object would also find a provider named "constructor". */
const kinds = new Map<string, keyof typeof usedFields | "unsupported">([
  ["file", "file"],
  ["fsnotify", "file"],
  ["fileinfo", "file"],
  ["dir", "dir"],
  ["kubernetes", "kubernetes"],
  ["http", "http"],
  ["grpc", "grpc"],
  ["remote", "remote"],
  ["gcs", "unsupported"],
  ["azblob", "unsupported"],
  ["s3", "unsupported"],
]);

const uriPrefixes: readonly (readonly [prefix: RegExp, provider: string])[] = [
  [/^file:/, "file"],
  [/^dir:/, "dir"],
  [/^core\.openfeature\.dev\//, "kubernetes"],
  [/^https?:\/\//, "http"],
  [/^(grpcs?|envoy|dns|uds|unix|xds):/, "grpc"],
  [/^gs:\/\//, "gcs"],
  [/^azblob:\/\//, "azblob"],
  [/^s3:\/\//, "s3"],
];

export interface SourceOptionTexts {
  /** Values of `--uri`. */
  readonly uris: readonly string[];
  /** The value of `--sources`: a JSON list; "" for none. */
  readonly sources: string;
  readonly credentials?: SharedCredentials;
  /** Values of `--remote-hosts`; absent: none. */
  readonly remoteHosts?: readonly string[];
}

/**
 * Parses `--uri` and `--sources` as flagd does: those of `--uri` come first, and a later source wins over an earlier one. The result also has
 * the sources of unsupported kinds: they are reported, and the others are served.
 *
 * @param warn called with each field that has no effect
 * @throws AgentError OPTION_INVALID, or SOURCE_UNSUPPORTED if no source is supported, with a message that says what to change
 */
export function parseSources(
  { uris, sources, credentials = noSharedCredentials, remoteHosts: hosts = [] }: SourceOptionTexts,
  warn: (message: string) => void = () => undefined,
): readonly SourceConfig[] {
  checkSharedCredentials(credentials);
  const remoteHosts = hosts.map(parseAllowedHost);
  const described = [
    ...uris.map((uri, i) => ({ where: `--uri ${quoted(uri)}`, fields: fieldsOfUri(uri, i) })),
    ...parseList(sources).map((value, i) => ({
      where: `source ${i + 1} of --sources`,
      fields: readSourceFields(value, `source ${i + 1} of --sources`),
    })),
  ];
  const configs = described.map(({ where, fields }, i) => {
    const warnings: string[] = [];
    const warnThis = (text: string): number => warnings.push(text);
    const config = configOf(fields, i, { where, credentials, remoteHosts, warn: warnThis });
    for (const sentence of [...unusedFields(fields, config), ...warnings]) warn(`${where}: ${sentence}`);
    return Object.freeze(config);
  });
  const { tokenFile, caFile, clientCertFile } = credentials;
  if (tokenFile + caFile + clientCertFile !== "" && !configs.some(takesShared))
    warn(
      "--token-file, --ca-file and --client-cert-file have no effect: no source of provider grpc names a FeatureFlag with its selector",
    );
  if (hosts.length > 0 && !configs.some(({ provider }) => provider === "remote"))
    warn("--remote-hosts has no effect: there is no source of provider remote");
  const tokenWarning = apiServerTokenWarning([tokenFile, ...described.map(({ fields }) => fields.tokenFile)]);
  if (tokenWarning !== undefined) warn(tokenWarning);
  const [first] = configs;
  if (first?.provider === "unsupported" && configs.every(({ provider }) => provider === "unsupported"))
    throw new AgentError("SOURCE_UNSUPPORTED", `${described[0]?.where ?? ""}: ${first.problem}`);
  return Object.freeze(configs);
}

/** True if the shared credentials apply to the source. */
function takesShared({ provider, selector }: SourceConfig): boolean {
  return provider === "grpc" && topicOf(selector) !== undefined;
}

function fieldsOfUri(uri: string, index: number): SourceFields {
  const provider = uriPrefixes.find(([prefix]) => prefix.test(uri))?.[1];
  if (provider === undefined)
    throw AgentError.optionInvalid(
      `--uri ${quoted(uri)} has no known prefix: write file:PATH for a file, dir:PATH for a directory of files, or grpc://HOST:PORT for a proxy; there are also https://, and core.openfeature.dev/NAMESPACE/NAME for a FeatureFlag`,
    );
  return readSourceFields({ uri, provider }, `--uri ${index + 1}`);
}

function parseList(text: string): readonly JsonValue[] {
  if (text.trim() === "") return [];
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (!(cause instanceof JsonSyntaxError)) throw cause;
    // The excerpt must not show a part of a token.
    const near = /auth|token|headers|secret/i.test(text)
      ? ""
      : `, near ${quoted(text.slice(Math.max(0, cause.position - 10), cause.position + 10))}`;
    const message = `--sources is not JSON: ${cause.message} at character ${cause.position + 1}${near}`;
    throw AgentError.optionInvalid(message, { cause });
  }
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw AgentError.optionInvalid('--sources must be a list: [{"uri":"…","provider":"…"}]');
}

function configOf(fields: SourceFields, sourceIndex: number, context: SourceContext): SourceConfig {
  const { where } = context;
  const kind = kinds.get(fields.provider);
  switch (kind) {
    case "file":
    case "dir":
      return fileConfig(fields, kind, sourceIndex, where);
    case "grpc":
      return grpcConfig(fields, sourceIndex, context);
    case "http":
      return httpConfig(fields, sourceIndex, context);
    case "kubernetes":
      return kubernetesConfig(fields, sourceIndex, where);
    case "remote":
      return remoteConfig(fields, sourceIndex, context);
    case "unsupported":
      return {
        provider: kind,
        sourceIndex,
        uri: fields.uri,
        selector: fields.selector,
        problem: `provider ${fields.provider} is not supported; there are file, dir, http, grpc, kubernetes and remote: fetch the object over https, or mount it as a file`,
      };
    case undefined:
      throw AgentError.optionInvalid(
        `${where}: there is no provider ${quoted(fields.provider)}; there are grpc, file, dir, http, kubernetes and remote`,
      );
  }
}

/** A warning for each field of the source that has no effect. */
function unusedFields({ given, provider, headers }: SourceFields, config: SourceConfig): string[] {
  if (config.provider === "unsupported") return [];
  const effective: readonly string[] = ["uri", "provider", ...usedFields[config.provider]];
  const unused = given.filter((name) => !effective.includes(name));
  const sentences = unused.map((name) =>
    sourceFieldNames.includes(name)
      ? `"${name}" has no effect with provider ${provider}`
      : `${quoted(name)} is not a field of a source, and has no effect`,
  );
  if (config.provider === "http" && config.certPath !== "" && !config.url.startsWith("https:"))
    sentences.push(`"certPath" has no effect, because the URI is not https`);
  if (config.provider === "http") sentences.push(...unsentAuthorizations(given, headers));
  return sentences;
}

/** Warnings about the credentials that an http source does not send: it sends one Authorization header, from the first of these fields. */
function unsentAuthorizations(given: readonly string[], headers: SourceFields["headers"]): string[] {
  const fields = ["oauth", "authHeader", "bearerToken", "tokenFile"].filter((name) => given.includes(name));
  const [sent] = fields;
  if (sent === undefined) return [];
  const others = fields.slice(1).map((name) => `"${name}"`);
  if (headers["authorization"] !== undefined) others.push('the header "authorization"');
  return others.map((name) => `${name} has no effect beside "${sent}"`);
}

function fileConfig(
  { uri, selector }: SourceFields,
  provider: FileSourceConfig["provider"],
  sourceIndex: number,
  where: string,
): FileSourceConfig {
  const path = uri.replace(new RegExp(`^${provider}:(//(?=/))?`), "");
  // As a path it would be the directory that the agent was started in.
  if (path === "") throw AgentError.optionInvalid(`${where}: the path after ${uri} is missing`);
  return { provider, sourceIndex, uri: path, selector, path };
}

function kubernetesConfig(fields: SourceFields, sourceIndex: number, where: string): KubernetesSourceConfig {
  try {
    const topic = parseTopicSelector(fields.uri);
    const [namespace = "", name = ""] = topic.split("/");
    return { provider: "kubernetes", sourceIndex, uri: topic, selector: "", namespace, name };
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause;
    throw AgentError.optionInvalid(
      `${where}: ${quoted(fields.uri)} does not name a FeatureFlag: write NAMESPACE/NAME, as Kubernetes accepts them`,
      { cause },
    );
  }
}
