import { hash } from "node:crypto";
import { canonicalJson, type JsonValue } from "@bunting/protocol";
import type { InjectionEntry } from "../api/injection.js";

/** The entry with its digest, by which an injected Pod tells which entry it got. */
export function withDigest(entry: Omit<InjectionEntry, "digest">): InjectionEntry {
  return { digest: shortDigest(entry), ...entry };
}

/** Of the canonical JSON of the value, the first 16 hex digits of SHA-256. */
export function shortDigest(value: object): string {
  // Through JSON, which leaves out what is undefined, as the API server does.
  const json = canonicalJson(JSON.parse(JSON.stringify(value)) as JsonValue);
  return textDigest(json);
}

/** The first 16 hex digits of SHA-256. */
export function textDigest(text: string): string {
  return hash("sha256", text).slice(0, 16);
}
