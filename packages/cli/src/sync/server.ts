import { readFileSync } from "node:fs";
import { connect as connectPlain, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import { errorCode, quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { ConnectionOptions } from "./connection-options.js";
import { addressText, type ServerAddress } from "./server-address.js";

/** A server, and how to connect to it. */
export interface SyncServer {
  readonly address: ServerAddress;
  /** Absent: plaintext. */
  readonly tls?: { readonly context: SecureContext; readonly serverName: string };
  /** File with a bearer token; absent: none. */
  readonly tokenFile?: string;
}

const localHosts = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;
const maxTokenBytes = 64 * 1024;

/** @throws CliError INPUT_UNREADABLE, INPUT_INVALID or USAGE_INVALID */
export function serverAt(address: ServerAddress, options: ConnectionOptions): SyncServer {
  const { tls: isTls, caFile, tlsServerName, tokenFile } = options;
  const secure = isTls || caFile !== "";
  if (!secure && tlsServerName !== "")
    throw CliError.usageInvalid("--tls-server-name has no effect without --tls");
  if (tokenFile !== "" && !secure && !("socketPath" in address) && !localHosts.test(address.host))
    throw CliError.usageInvalid(
      `a token would cross the network to ${addressText(address)} in plaintext: use --tls`,
    );
  const server = {
    address,
    ...(secure ? { tls: { context: contextOf(caFile), serverName: tlsServerName } } : {}),
    ...(tokenFile === "" ? {} : { tokenFile }),
  };
  // What is wrong with the token shows before anything is done.
  authorizationFor(server);
  return server;
}

/**
 * The headers that show the token.
 *
 * @throws CliError INPUT_UNREADABLE or INPUT_INVALID
 */
export function authorizationFor({ tokenFile }: Pick<SyncServer, "tokenFile">): {
  readonly authorization?: string;
} {
  if (tokenFile === undefined) return {};
  const token = read(tokenFile).toString().trim();
  // Of RFC 6750. Anything else would end up in the error of a header, with the content of the file.
  if (token.length > maxTokenBytes || !/^[\w.~+/-]+=*$/.test(token))
    throw CliError.inputInvalid(`${quoted(tokenFile)} has no bearer token`);
  return { authorization: `Bearer ${token}` };
}

/**
 * Opens a connection.
 *
 * @param protocol for ALPN
 * @param dialled a connection that is open already, such as through a port-forward
 */
export function openConnection(
  { address, tls }: Pick<SyncServer, "address" | "tls">,
  protocol: "h2" | "http/1.1",
  dialled?: Duplex,
): Duplex {
  const target = "socketPath" in address ? { path: address.socketPath } : address;
  if (tls === undefined) return dialled ?? connectPlain(target);
  const host = "socketPath" in address ? "localhost" : address.host;
  const serverName = tls.serverName === "" && isIP(host) === 0 ? host : tls.serverName;
  return connectTls({
    ...(dialled === undefined ? target : { socket: dialled }),
    host,
    ...(serverName === "" ? {} : { servername: serverName }),
    secureContext: tls.context,
    ALPNProtocols: [protocol],
  });
}

/** True if a connection failed for its TLS, so that another attempt would fail, too. */
export function isTlsError(error: unknown): boolean {
  const code = errorCode(error) ?? "";
  return /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO)/.test(
    code,
  );
}

/** Why a connection failed, with what to do about it where that is known. */
export function connectionError(error: Error, { tls }: Pick<SyncServer, "tls">): string {
  const code = errorCode(error) ?? "";
  // What a port of TLS does with plaintext.
  if (tls === undefined)
    return code === "ECONNRESET" ? `${error.message}. Does the port want --tls?` : error.message;
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "EPROTO")
    return `the port does not speak TLS (${error.message.trim()})`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `${error.message} Name the right one with --tls-server-name`;
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code))
    return `its certificate is not trusted: ${error.message}. Name its authority with --ca-file`;
  if (code === "ECONNRESET") return `${error.message}. Does the port speak TLS?`;
  return error.message;
}

function contextOf(caFile: string): SecureContext {
  if (caFile === "") return createSecureContext();
  const ca = read(caFile);
  try {
    if (!ca.includes("-----BEGIN CERTIFICATE-----")) throw new Error("there is no certificate in it");
    return createSecureContext({ ca });
  } catch (cause) {
    const message = `${quoted(caFile)} can't be used for --ca-file: ${(cause as Error).message}`;
    throw CliError.inputInvalid(message, { cause });
  }
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CliError("INPUT_UNREADABLE", `${quoted(file)} can't be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}
