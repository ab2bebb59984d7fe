/**
 * An object that seems gone counts as deleted when a read that begins this much later, in ms, does not find it. When a CRD is deleted, its
 * objects are sent as deleted one by one, and for about a second the type still answers reads with an empty list.
 */
export const confirmAfterMs = 3_000;
