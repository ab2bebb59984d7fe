import { quoted } from "@bunting/protocol";
import type { SourceEntry } from "./feature-flag-source.js";

/** As flagd has it: a day. */
const maxIntervalSeconds = 86_400;

type AddressedSource = Pick<SourceEntry, "source" | "interval" | "httpSyncBearerToken" | "selector">;

/**
 * Why a sidecar would not start with a source that has an address; undefined if it would. What its provider does not send is not looked at, and
 * nobody knows what Kubernetes will put in the place of `$(NAME)`.
 */
export function sourceProblem(
  provider: "http" | "grpc" | "gcs" | "azblob" | "s3",
  { source, interval = 0, httpSyncBearerToken = "", selector = "" }: AddressedSource,
): string | undefined {
  const isKnown = !source.includes("$(");
  if (provider === "http" && isKnown && !isHttpUrl(source))
    return "its address is no URL; write http://HOST/PATH or https://HOST/PATH";
  if (provider === "grpc" && isKnown && !isTarget(source.replace(/^grpcs?:\/\//, "")))
    return "its address names no server; write HOST:PORT, or envoy://HOST:PORT/SERVICE";
  if (provider !== "grpc" && (interval < 0 || interval > maxIntervalSeconds))
    return `its interval is ${interval}; write a number of seconds up to ${maxIntervalSeconds}`;
  const header = { http: httpSyncBearerToken, grpc: selector, gcs: "", azblob: "", s3: "" }[provider];
  if (!/^[ -~]*$/.test(header))
    return "its token or selector has a character that no header has, such as a line break";
  return undefined;
}

/** What only flagd reads of sources, and our agent does not: objects in buckets, and targets of xds. Undefined if both read it. */
export function flagdOnly(provider: string, source: string): "bucket" | "xds" | undefined {
  if (provider === "gcs" || provider === "azblob" || provider === "s3") return "bucket";
  return provider === "grpc" && /^(?:grpcs?:\/\/)?xds:/.test(source) ? "xds" : undefined;
}

/** Why a sidecar would not start with this collector; undefined if it would. */
export function collectorProblem(uri: string): string | undefined {
  const isAddress = URL.canParse(`https://${uri.replace(/^https?:\/\//, "")}`);
  // The sidecar knows no other schemes: it would take them for hosts.
  const hasOtherScheme = /^(?!https?:\/\/)[^/]*:\//.test(uri);
  if (uri === "" || uri.includes("$(") || (isAddress && !hasOtherScheme)) return undefined;
  return "the sidecar would not start; write HOST:PORT, or https://HOST:PORT";
}

/** Why a sidecar would not take a value of the context under this key; undefined if it would. */
export function contextKeyProblem(key: string): string | undefined {
  if (!/[=,]/.test(key)) return undefined;
  return `the sidecar would take a part of ${quoted(key)} for a key or value: use one without "=" and ","`;
}

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Why a sidecar would find no header of this name; undefined if it would. */
export function headerProblem(header: string): string | undefined {
  return headerName.test(header)
    ? undefined
    : `${quoted(header)} is no name of a header: use letters, digits and "-"`;
}

/** Characters of a variable's name, as API servers accept them from 1.32 on. */
const variableName = /^[ -<>-~]*$/;

/** Why no Pod could have variables with this prefix; undefined if it can. */
export function prefixProblem(prefix: string): string | undefined {
  return variableName.test(prefix)
    ? undefined
    : 'Kubernetes would refuse the Pod; use letters, digits and "_"';
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isTarget(text: string): boolean {
  return /^(?!envoy:).|^envoy:\/\/[^/]+\/./.test(text);
}
