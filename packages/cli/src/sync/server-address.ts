import { parseAnySelector, type TopicKey } from "@bunting/protocol";
import { hostAndPort, quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";

/** Where a server listens: a port, or a unix socket. */
export type ServerAddress =
  { readonly host: string; readonly port: number } | { readonly socketPath: string };

const unix = "unix:";

/**
 * `HOST:PORT`, `[::1]:8015`, a host with the default port, or `unix:PATH`.
 *
 * @throws CliError USAGE_INVALID
 */
export function parseServerAddress(text: string, defaultPort: number): ServerAddress {
  if (text.startsWith(unix) && text.length > unix.length) return { socketPath: text.slice(unix.length) };
  const [, bracketed, plain, port = String(defaultPort)] =
    /^(?:\[([\da-f:.%]+)\]|([^:/[\]\s]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535 || Number(port) === 0)
    throw CliError.usageInvalid(
      `invalid address ${quoted(text)}: write HOST:PORT, such as localhost:${defaultPort} or [::1]:${defaultPort}, or unix:PATH`,
    );
  return { host, port: Number(port) };
}

export function addressText(address: ServerAddress): string {
  if ("socketPath" in address) return unix + address.socketPath;
  return hostAndPort(address.host, address.port);
}

export interface ProxyTopic {
  readonly address: ServerAddress;
  readonly topic: TopicKey;
}

const scheme = "proxy://";

/**
 * `proxy://HOST:PORT/NAMESPACE/NAME`, or `proxy://unix:PATH/NAMESPACE/NAME`; undefined for anything without that scheme.
 *
 * @throws CliError USAGE_INVALID; ProtocolError if the topic has no valid name
 */
export function parseProxyUrl(text: string): ProxyTopic | undefined {
  if (!text.startsWith(scheme)) return undefined;
  const rest = text.slice(scheme.length);
  // The path of a socket has slashes of its own: the last two parts are the topic.
  const slash = rest.startsWith(unix) ? rest.lastIndexOf("/", rest.lastIndexOf("/") - 1) : rest.indexOf("/");
  if (slash < 0)
    throw CliError.usageInvalid(
      `invalid address ${quoted(text)}: write proxy://HOST:PORT/NAMESPACE/NAME or proxy://unix:PATH/NAMESPACE/NAME`,
    );
  return {
    address: parseServerAddress(rest.slice(0, slash), usualSyncPort),
    topic: parseAnySelector(rest.slice(slash + 1)),
  };
}

const agentScheme = "agent://";
/** On which an agent answers OFREP. */
const usualOfrepPort = 8016;

/**
 * The address in `agent://HOST:PORT` or `agent://unix:PATH`; undefined for anything without that scheme.
 *
 * @throws CliError USAGE_INVALID
 */
export function parseAgentUrl(text: string): ServerAddress | undefined {
  if (!text.startsWith(agentScheme)) return undefined;
  return parseServerAddress(text.slice(agentScheme.length), usualOfrepPort);
}

/** On which a proxy tells its status. */
export const usualManagementPort = 8016;

/** On which an agent does. */
export const usualAgentManagementPort = 8014;

/** On which proxies and agents serve flags. */
export const usualSyncPort = 8015;
