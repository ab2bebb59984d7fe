import { quoted } from "@bunting/runtime";
import { parseNetwork, type Network } from "./network.js";

export interface AllowedHost {
  /** In lower case, without a dot at its end; that of `*.example.com` is `.example.com`. */
  readonly name: string;
  readonly port: number;
  /** It is called without TLS. */
  readonly isPlain: boolean;
  /** Where its addresses may be beside the public Internet. */
  readonly networks: readonly Network[];
}

/** What is called. */
export interface CalledHost {
  readonly name: string;
  readonly port: number;
  readonly isPlain: boolean;
}

const form = /^(?:(https?):\/\/)?([^/?#@=\s]+)(?:=([^=\s]+))?$/i;

/**
 * Reads one entry of a list of hosts: `host`, `host:port`, `*.suffix`, `http://host` for one that is called without TLS, and any of these with
 * `=10.0.0.0/8+fd00::/8` after it for addresses that are not public.
 *
 * @throws Error with a sentence
 */
export function parseAllowedHost(text: string): AllowedHost {
  const [, scheme = "https", authority = "", networks] = form.exec(text) ?? [];
  const isWildcard = authority.startsWith("*.");
  const href = `${scheme}://${isWildcard ? authority.slice(2) : authority}`;
  if (authority === "" || !URL.canParse(href)) throw new Error(refusal(text));
  const url = new URL(href);
  // A URL would take `*.10.0.0.1`, and so would a resolver.
  if (url.hostname.includes("*") || (isWildcard && !/[a-z][-\w]*\.?$/i.test(url.hostname)))
    throw new Error(refusal(text));
  const { name, port, isPlain } = calledHost(url);
  return {
    name: isWildcard ? `.${name}` : name,
    port,
    isPlain,
    networks: networks === undefined ? [] : networks.split("+").map(parseNetwork),
  };
}

function refusal(text: string): string {
  return `${quoted(text)} is no host: write it as flags.example.com, flags.example.com:8443, *.example.com, http://flags.example.com, or flags.example.com=10.0.0.0/8`;
}

/** What a URL of http or https calls. */
export function calledHost(url: URL): CalledHost {
  const isPlain = url.protocol === "http:";
  return {
    name: url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, ""),
    port: url.port === "" ? (isPlain ? 80 : 443) : Number(url.port),
    isPlain,
  };
}

/** True if the entry of the list is about this host, at this port, called this way. */
export function isAllowed({ name, port, isPlain }: CalledHost, allowed: AllowedHost): boolean {
  const isNamed = allowed.name.startsWith(".")
    ? name.length > allowed.name.length && name.endsWith(allowed.name)
    : name === allowed.name;
  return isNamed && port === allowed.port && isPlain === allowed.isPlain;
}
