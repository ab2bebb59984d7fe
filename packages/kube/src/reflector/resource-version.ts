/**
 * Compares two resourceVersions of one resource type as client-go has done since 1.35: as whole numbers of any length. Negative if
 * a is older than b. Both must pass `isResourceVersion`.
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True for what an API server writes: digits without a leading zero. */
export function isResourceVersion(text: unknown): text is string {
  return typeof text === "string" && /^[1-9]\d*$/.test(text);
}
