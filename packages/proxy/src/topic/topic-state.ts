import type { Snapshot } from "../snapshot/snapshot.js";

/** The state by the source's last report on the document. It stands while the source is stale. */
export type StandingState = StartingState | LiveState | MissingState | DeletedState;

export type TopicState = StandingState | StaleState;

/** The source has not reported yet whether the document exists. Subscribers wait. */
export interface StartingState {
  readonly kind: "starting";
}

/** The document exists, and its snapshot is served. */
export interface LiveState {
  readonly kind: "live";
  readonly snapshot: Snapshot;
}

/** The document does not exist and, as far as this topic knows, never did. The missing policy applies. */
export interface MissingState {
  readonly kind: "missing";
}

/**
 * The document is deleted. During the grace the last snapshot is served; then the deletion policy is applied, once, and
 * `snapshot` is its result. Without a snapshot (closed, or deleted before this topic began) the missing policy applies.
 */
export interface DeletedState {
  readonly kind: "deleted";
  readonly phase: "grace" | "settled";
  readonly snapshot: Snapshot | undefined;
}

/** The source is stale: the standing state stays in force, and a deletion grace runs on. The next report ends the staleness. */
export interface StaleState {
  readonly kind: "stale";
  readonly standing: StandingState;
  readonly reason: Error;
}

export function starting(): StartingState {
  return { kind: "starting" };
}

export function live(snapshot: Snapshot): LiveState {
  return { kind: "live", snapshot };
}

export function missing(): MissingState {
  return { kind: "missing" };
}

export function deletedInGrace(snapshot: Snapshot | undefined): DeletedState {
  return { kind: "deleted", phase: "grace", snapshot };
}

export function deletionSettled(snapshot: Snapshot | undefined): DeletedState {
  return { kind: "deleted", phase: "settled", snapshot };
}

export function stale(state: TopicState, reason: Error): StaleState {
  return { kind: "stale", standing: standing(state), reason };
}

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
