/**
 * The priority of a watch, evaluated at each decision. A watch is speculative while nothing is known to exist in its scope,
 * for instance because a peer chose the name: it has a rate and sessions of its own, and does not delay normal watches.
 */
export type WatchPriority = "normal" | "speculative";
