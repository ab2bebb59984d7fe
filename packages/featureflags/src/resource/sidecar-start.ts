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

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isTarget(text: string): boolean {
  return /^(?!envoy:).|^envoy:\/\/[^/]+\/./.test(text);
}
