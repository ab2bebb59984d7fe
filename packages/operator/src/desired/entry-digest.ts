import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "@bunting/protocol";
import type { InjectionEntry } from "../api/injection.js";

/** The entry with its digest, by which an injected Pod tells which entry it got. */
export function withDigest(entry: Omit<InjectionEntry, "digest">): InjectionEntry {
  // Through JSON, which leaves out what is undefined, as the API server does.
  const json = canonicalJson(JSON.parse(JSON.stringify(entry)) as JsonValue);
  return { digest: createHash("sha256").update(json).digest("hex").slice(0, 16), ...entry };
}
