import { createHash } from "node:crypto";

/** A strong ETag: equal response bodies have equal tags. */
export function etagOf(body: string): string {
  return `"${createHash("sha1").update(body).digest("base64url")}"`;
}

/**
 * Whether If-None-Match names the current ETag: a list of tags or `*`, compared weakly, as RFC 9110 13.1.2 requires. Anything that is not
 * a tag is ignored.
 */
export function isNoneMatchFor(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  for (const [tag] of ifNoneMatch.matchAll(/"[\x21\x23-\x7e\x80-\xff]*"/g)) if (tag === etag) return true;
  return false;
}
