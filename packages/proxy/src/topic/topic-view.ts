import type { TopicKey } from "@bunting/protocol";
import type { Snapshot } from "../snapshot/snapshot.js";
import { Tombstone, type DeletionPolicy } from "./tombstone.js";
import { standing, type TopicState } from "./topic-state.js";

/** A topic as its subscribers see it. It is made once per state of the topic, and shared by all subscribers. */
export type TopicView =
  /** The source has not reported yet whether the document exists. */
  | { readonly kind: "starting"; readonly snapshot: undefined; readonly tombstone: undefined }
  /** The document exists. */
  | { readonly kind: "live"; readonly snapshot: Snapshot; readonly tombstone: undefined }
  /** There is no document to serve, and no deletion policy to follow. */
  | { readonly kind: "missing"; readonly snapshot: undefined; readonly tombstone: Tombstone }
  /**
   * The document was deleted. What is served after that is the last snapshot, or an empty one by the policy `empty`. During the grace, in
   * which the deletion is not announced, there is no tombstone.
   */
  | {
      readonly kind: "deleted";
      readonly snapshot: Snapshot | undefined;
      readonly tombstone: Tombstone | undefined;
    };

export const startingView: TopicView = { kind: "starting", snapshot: undefined, tombstone: undefined };

/** The snapshot that agents serve; undefined without one, and where the deletion policy has them serve no flags. */
export function documentOf({ snapshot, tombstone }: TopicView): Snapshot | undefined {
  return tombstone?.policy === "empty" ? undefined : snapshot;
}

/** The view of a topic in this state. A tombstone that still holds stays the same object as in the view before. */
export function viewOf(
  state: TopicState,
  topic: TopicKey,
  deletionPolicy: DeletionPolicy,
  before: TopicView,
): TopicView {
  const tombstone = (policy: DeletionPolicy | undefined): Tombstone => {
    const last = before.tombstone;
    return last !== undefined && last.policy === policy ? last : new Tombstone(topic, policy);
  };
  const reported = standing(state);
  switch (reported.kind) {
    case "starting":
      return startingView;
    case "live":
      return { kind: "live", snapshot: reported.snapshot, tombstone: undefined };
    case "missing":
      return { kind: "missing", snapshot: undefined, tombstone: tombstone(undefined) };
    case "deleted": {
      const { phase, snapshot } = reported;
      if (phase === "settled") return { kind: "deleted", snapshot, tombstone: tombstone(deletionPolicy) };
      // Deleted before this topic had seen it: there is nothing to serve during the grace.
      if (snapshot === undefined) return { kind: "missing", snapshot, tombstone: tombstone(undefined) };
      return { kind: "deleted", snapshot, tombstone: undefined };
    }
  }
}
