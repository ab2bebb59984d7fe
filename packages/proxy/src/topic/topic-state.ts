import type { Snapshot } from "../snapshot/snapshot.js";

/** What the source said last, whether or not it keeps up now. */
export type StandingState = StartingState | LiveState | MissingState | DeletedState;

export type TopicState = StandingState | StaleState;

/** The source has not said yet whether the document exists. Subscribers are held. */
export interface StartingState {
  readonly kind: "starting";
}

/** The document exists, and this snapshot of it is served. */
export interface LiveState {
  readonly kind: "live";
  readonly snapshot: Snapshot;
}

/** The document does not exist and, as far as this topic knows, never did. The missing policy decides what subscribers get. */
export interface MissingState {
  readonly kind: "missing";
}

/**
 * The document is gone. During the grace the last snapshot is served; then the deletion policy is applied, once: `snapshot`
 * is what is served from then on. Without one (closed, or deleted before this topic began) the missing policy decides.
 */
export interface DeletedState {
  readonly kind: "deleted";
  readonly phase: "grace" | "settled";
  readonly snapshot: Snapshot | undefined;
}

/** The source is out of date for now: the state before stays, and a deletion grace runs on. The next call of the source ends this. */
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

/** Why the source is out of date; undefined if it is not. */
export function staleReason(state: TopicState): Error | undefined {
  return state.kind === "stale" ? state.reason : undefined;
}

/** The state without regard to staleness. */
export function standing(state: TopicState): StandingState {
  return state.kind === "stale" ? state.standing : state;
}

/** True if the source says that there is no document, and nothing is served in its place. */
export function isAbsent(state: TopicState): boolean {
  const reported = standing(state);
  return reported.kind === "missing" || (reported.kind === "deleted" && reported.snapshot === undefined);
}
