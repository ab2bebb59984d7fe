import type { Snapshot } from "../snapshot/snapshot.js";

/** The state by the source's last report on the document. It stands while the source is stale. */
export type StandingState =
  /** The source has not reported yet whether the document exists. Subscribers wait. */
  | { readonly kind: "starting" }
  /** The document exists, and its snapshot is served. */
  | { readonly kind: "live"; readonly snapshot: Snapshot }
  /** The document does not exist and, as far as this topic knows, never did. The missing policy applies. */
  | { readonly kind: "missing" }
  /**
   * The document is deleted. During the grace the last snapshot is served; then the deletion policy is applied, once, and
   * `snapshot` is its result. Without a snapshot (closed, or deleted before this topic began) the missing policy applies.
   */
  | {
      readonly kind: "deleted";
      readonly phase: "grace" | "settled";
      readonly snapshot: Snapshot | undefined;
    };

export type TopicState =
  | StandingState
  /** The source is stale: the standing state stays in force, and a deletion grace runs on. The next report ends the staleness. */
  | { readonly kind: "stale"; readonly standing: StandingState; readonly reason: Error };

export function staleReason(state: TopicState): Error | undefined {
  return state.kind === "stale" ? state.reason : undefined;
}

/** The state without regard to staleness. */
export function standing(state: TopicState): StandingState {
  return state.kind === "stale" ? state.standing : state;
}

/** True if the source reported that there is no document, and nothing is served in its place. */
export function isAbsent(state: TopicState): boolean {
  const reported = standing(state);
  return reported.kind === "missing" || (reported.kind === "deleted" && reported.snapshot === undefined);
}
