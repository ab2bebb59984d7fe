import { isIP } from "node:net";
import type { AllowedHost } from "@bunting/outbound/hosts";
import { topicOf } from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import { grpcCredentials, type SharedCredentials } from "./grpc-credentials.js";
import type { GrpcSourceConfig, UnsupportedSourceConfig } from "./source-config.js";
import type { SourceFields } from "./source-fields.js";

export interface SourceContext {
  /** Name of the source, for messages. */
  readonly where: string;
  readonly credentials: SharedCredentials;
  /** Hosts that remotes may name: the values of `--remote-hosts`. */
  readonly remoteHosts: readonly AllowedHost[];
  readonly warn: (sentence: string) => void;
}

/** @throws AgentError OPTION_INVALID */
export function grpcConfig(
  fields: SourceFields,
  sourceIndex: number,
  { where, credentials, warn }: SourceContext,
): GrpcSourceConfig | UnsupportedSourceConfig {
  const { selector, providerID: providerId, maxMsgSize, incrementalUpdates } = fields;
  if (!/^[\x20-\x7e]*$/.test(selector))
    throw AgentError.optionInvalid(
      `${where}: "selector" is sent as a header and can hold printable ASCII characters only, got ${quoted(selector)}`,
    );
  // A block of YAML ends in a line break.
  const uri = fields.uri.trim().replace(/^grpcs?:\/\//, "");
  if (uri.startsWith("xds:")) {
    const problem = "xds targets are not supported: use dns:///HOST:PORT, or envoy://HOST:PORT/SERVICE";
    return { provider: "unsupported", sourceIndex, uri: fields.uri, selector, problem };
  }
  const { target, authority } = targetOf(uri, where);
  const nameServer = /^dns:\/\/([^/]+)\//.exec(target)?.[1];
  if (nameServer !== undefined && !isAddress(nameServer)) {
    const problem = `the name server ${quoted(nameServer)} has to be an address: dns://10.0.0.10/HOST:PORT, or dns:///HOST:PORT for that of the system`;
    return { provider: "unsupported", sourceIndex, uri: fields.uri, selector, problem };
  }
  const named = target.replace(/^dns:(?:\/\/[^/]*\/)?/, "");
  if (bareV6.test(named))
    warn(
      `${quoted(named)} is taken for a host without a port: before one, an address of IPv6 is in brackets, as in [fd00::1]:8015`,
    );
  for (const name of Object.keys(fields.headers)) {
    if (connectionHeaders.has(name))
      throw AgentError.optionInvalid(`${where}: gRPC can't send the header ${quoted(name)}`);
    if (ownHeaders.has(name)) warn(`the header ${quoted(name)} has no effect: gRPC has its own`);
  }
  const place = {
    isTopic: topicOf(selector) !== undefined,
    isLocal: target.startsWith("unix:"),
    // With the port that gRPC takes where there is none.
    host: /:\d+$/.test(named) ? named : `${named}:443`,
  };
  const { warnings, ...connection } = grpcCredentials(fields, place, credentials, where);
  for (const sentence of warnings) warn(sentence);
  return {
    provider: "grpc",
    sourceIndex,
    uri,
    selector,
    target,
    authority,
    ...connection,
    providerId,
    maxMessageBytes: maxMsgSize === 0 ? undefined : maxMsgSize,
    isIncremental: incrementalUpdates,
  };
}

/** An address of IPv4 or IPv6, which may have a port. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 || isIP(text.replace(/:\d+$/, "").replace(/^\[(.+)\]$/, "$1")) !== 0;
}

/** An address of IPv6; where a port was meant, it has become a part of the address. */
const bareV6 = /^[\da-f]*:[\da-f:.]*:[\da-f.]*$/i;

/** Of a connection of HTTP/1.1: HTTP/2 forbids them, and no call would be made. */
const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
const ownHeaders: ReadonlySet<string> = new Set(["content-type", "te", "user-agent"]);

/** Translates targets of grpc-go and flagd to those of grpc-js. */
function targetOf(uri: string, where: string): { target: string; authority: string | undefined } {
  const envoy = /^envoy:\/\/([^/]+)\/(.+)$/.exec(uri);
  if (envoy !== null) return { target: `dns:///${envoy[1] ?? ""}`, authority: envoy[2] };
  if (uri.startsWith("envoy:"))
    throw AgentError.optionInvalid(`${where}: expected envoy://HOST:PORT/SERVICE, got ${quoted(uri)}`);
  if (uri === "") throw AgentError.optionInvalid(`${where}: the address after grpc:// is missing`);
  return {
    target: uri
      // grpc-js, unlike grpc-go, takes other cases for hosts.
      .replace(/^(?:dns|passthrough|uds|unix):/i, (scheme) => scheme.toLowerCase())
      .replace(/^uds:/, "unix:")
      .replace(/^passthrough:(?:\/\/[^/]*\/)?/, "dns:"),
    authority: undefined,
  };
}
