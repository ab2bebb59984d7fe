import { hash } from "node:crypto";
import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { DocumentDigest } from "./document-digest.js";
import type { FlagDocument } from "./flag-document.js";
import type { JsonObject } from "./json.js";
import type { DocumentWork } from "./work.js";

/** The digest of a document that is not encoded, in hex; in steps of a flag each. */
export function* digestingDocument({ flags, metadata, $evaluators }: FlagDocument): DocumentWork<string> {
  const digest = new DocumentDigest();
  for (const key of Object.keys(flags).sort(compareUtf8)) {
    digest.add(key, hash("sha256", canonicalJson(flags[key] ?? null)));
    yield;
  }
  const part = (value: JsonObject | undefined): string | undefined =>
    value === undefined ? undefined : canonicalJson(value);
  return digest.finish(part(metadata), part($evaluators)).toString("hex");
}
