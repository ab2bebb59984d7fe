import { givenFlags, type OptionsOf } from "@bunting/runtime";
import { isNamespaceName } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import { upstreamOptionTable } from "../../upstream-options.js";

export type UpstreamOptions = OptionsOf<typeof upstreamOptionTable>;

/** Proxies that serve the same topics: one of them is used at a time. */
export interface UpstreamConfig {
  /** Prefix of the upstream's topics in this proxy; "" for none. */
  readonly prefix: string;
  /** `HOST:PORT` each. */
  readonly targets: readonly string[];
}

/** Files for the connection to the proxies; "" for none. */
export interface UpstreamCredentials {
  readonly isTls: boolean;
  readonly certPath: string;
  readonly clientCertPath: string;
  readonly clientKeyPath: string;
  readonly tokenFile: string;
}

const expected =
  "use --source upstream:HOST:PORT[,HOST:PORT…] with proxies that serve the same topics, and a semicolon before those of another cluster";

/**
 * Reads what follows `upstream:` in `--source`, with the prefixes.
 *
 * @throws ProxyError OPTION_INVALID
 */
export function parseUpstreams(value: string, topicPrefix: string): readonly UpstreamConfig[] {
  const groups = value
    .split(";")
    .map((group) => group.split(",").map((target) => checkTarget(target.trim())));
  const prefixes = topicPrefix === "" ? groups.map(() => "") : topicPrefix.split(",").map(checkPrefix);
  if (prefixes.length !== groups.length)
    throw ProxyError.optionInvalid(
      `--source names ${groups.length} upstreams (separated by semicolons), and --topic-prefix ${prefixes.length} prefixes (separated by commas): give one for each`,
    );
  if (new Set(prefixes).size < prefixes.length)
    throw ProxyError.optionInvalid(
      "topics of two upstreams would have the same name: give each a --topic-prefix of its own, such as eu/,us/",
    );
  return groups.map((targets, index) => ({ targets, prefix: prefixes[index] ?? "" }));
}

/** @throws ProxyError OPTION_INVALID */
export function upstreamCredentials(options: UpstreamOptions): UpstreamCredentials {
  const { upstreamCaFile, upstreamClientCertFile, upstreamClientKeyFile, upstreamTokenFile } = options;
  if ((upstreamClientCertFile === "") !== (upstreamClientKeyFile === ""))
    throw ProxyError.optionInvalid(
      "a client certificate needs its private key: set both --upstream-client-cert-file and --upstream-client-key-file, or neither",
    );
  const isTls = options.upstreamTls || upstreamCaFile !== "" || upstreamClientCertFile !== "";
  if (upstreamTokenFile !== "" && !isTls && !options.upstreamTokenOverPlaintext)
    throw ProxyError.optionInvalid(
      "the token of --upstream-token-file would be sent in plaintext: set --upstream-tls or --upstream-ca-file, or allow it with --upstream-token-over-plaintext",
    );
  return {
    isTls,
    certPath: upstreamCaFile,
    clientCertPath: upstreamClientCertFile,
    clientKeyPath: upstreamClientKeyFile,
    tokenFile: upstreamTokenFile,
  };
}

/**
 * Refuses options that do nothing without upstreams.
 *
 * @throws ProxyError OPTION_INVALID
 */
export function refuseWithoutUpstreams(options: UpstreamOptions): void {
  const [given] = givenFlags(upstreamOptionTable, options);
  if (given !== undefined)
    throw ProxyError.optionInvalid(`--${given} is for --source upstream:HOST:PORT, and does nothing without`);
}

function checkTarget(target: string): string {
  // Not repeated: it may be a password.
  if (target.includes("@"))
    throw ProxyError.optionInvalid(
      "--source upstream:… has credentials in it, which an upstream takes from --upstream-token-file",
    );
  const port = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/.exec(target)?.[1];
  if (port !== undefined && Number(port) > 0 && Number(port) <= 65_535) return target;
  throw ProxyError.optionInvalid(`"${target}" is no upstream: ${expected}`);
}

function checkPrefix(prefix: string): string {
  if (prefix === "" || (prefix.endsWith("/") && isNamespaceName(prefix.slice(0, -1)))) return prefix;
  throw ProxyError.optionInvalid(
    `"${prefix}" can't be a --topic-prefix: it is a name of a-z, 0-9 and "-", and a slash after it, such as eu/`,
  );
}
