import type { RemoteFailure } from "./remote-kind.js";

/**
 * How far a remote is known:
 *
 * - `starting`: it has not answered, nor failed, since this process began to read it.
 * - `synced`: it has answered within three intervals.
 * - `stale`: it has not; its last document is served.
 * - `never`: it has failed, and there is no document of it.
 * - `forbidden`: the Secret that it needs may not be read. What there was is served.
 * - `held`: its newest answer takes all flags away, which is not allowed; the one before is served.
 */
export type RemoteStateName = "starting" | "synced" | "stale" | "never" | "forbidden" | "held";

/** How far a remote is known here, and why it is not further. If one that is `synced` has failed since its last answer, the failure says why. */
export type RemoteState =
  | { readonly kind: "starting"; readonly failure?: undefined }
  | { readonly kind: "synced"; readonly failure?: RemoteFailure | undefined }
  | { readonly kind: "stale" | "never" | "forbidden" | "held"; readonly failure: RemoteFailure };

export type RemoteEvent =
  /** It has answered, and the answer is served. */
  | { readonly kind: "answered"; readonly failure?: undefined }
  /** It has not, or with something that can't be served. */
  | { readonly kind: "failed"; readonly failure: RemoteFailure }
  | { readonly kind: "forbidden"; readonly failure: RemoteFailure }
  | { readonly kind: "emptied"; readonly failure: RemoteFailure }
  /** Three intervals have passed without an answer. */
  | { readonly kind: "overdue"; readonly failure: RemoteFailure };

/** `failing` is stale with a document, and never without. */
type Next = "synced" | "failing" | "forbidden" | "held" | "same";

const usual = { answered: "synced", failed: "failing", forbidden: "forbidden", emptied: "held" } as const;

const transitions: Readonly<Record<RemoteStateName, Readonly<Record<RemoteEvent["kind"], Next>>>> = {
  starting: { ...usual, overdue: "failing" },
  synced: { ...usual, failed: "synced", overdue: "failing" },
  stale: { ...usual, overdue: "same" },
  never: { ...usual, overdue: "same" },
  forbidden: { ...usual, overdue: "same" },
  held: { ...usual, overdue: "same" },
};

/** @param hasDocument there is a document of the remote, from this replica or an earlier one */
export function nextRemoteState(state: RemoteState, event: RemoteEvent, hasDocument: boolean): RemoteState {
  const next = transitions[state.kind][event.kind];
  if (next === "same") return state;
  if (next === "synced") return { kind: "synced", failure: event.failure };
  // Only an answer comes without a failure, and it leads to `synced`; the last failure says more than that it is long ago.
  const failure = (event.kind === "overdue" ? state.failure : undefined) ?? event.failure;
  if (failure === undefined) return state;
  if (next !== "failing") return { kind: next, failure };
  return { kind: hasDocument ? "stale" : "never", failure };
}
