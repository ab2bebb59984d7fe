import { createHash } from "node:crypto";

/** A strong ETag of a response body: the same body, the same tag. */
export function etagOf(body: string): string {
  return `"${createHash("sha1").update(body).digest("base64url")}"`;
}

/**
 * Whether If-None-Match names the current ETag: a list of tags or `*`, compared weakly, as RFC 9110 13.1.2 asks. What is no tag is
 * passed over.
 */
export function isNoneMatchFor(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  for (const [tag] of ifNoneMatch.matchAll(/"[\x21\x23-\x7e\x80-\xff]*"/g)) if (tag === etag) return true;
  return false;
}
