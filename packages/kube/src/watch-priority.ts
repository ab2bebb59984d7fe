/**
 * The priority of a watch.
 *
 * - normal: the default.
 * - speculative: nothing is known to exist in the watch's scope, for instance because a peer chose the name. Such
 *   watches have a rate and sessions of their own, so that they never delay the normal ones.
 *
 * The priority is evaluated at each decision: a watch becomes normal when an object turns up in its scope.
 */
export type WatchPriority = "normal" | "speculative";
