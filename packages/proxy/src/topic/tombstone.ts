import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { frameResponse } from "../snapshot/topic-frames.js";
import { standing, type TopicState } from "./topic-state.js";

export type DeletionPolicy = "keep" | "empty" | "close";

/** That a topic has no document (any more), and what its agents are to make of it. One object each time that begins. */
export class Absence {
  readonly topic: TopicKey;
  /** The deletion policy, once the grace of a deletion is over; undefined if the document was never seen. */
  readonly policy: DeletionPolicy | undefined;
  #frame: Buffer | undefined;

  constructor(topic: TopicKey, policy: DeletionPolicy | undefined) {
    this.topic = topic;
    this.policy = policy;
  }

  get kind(): "missing" | "deleted" {
    return this.policy === undefined ? "missing" : "deleted";
  }

  /** The message of bunting.sync.v1 that tells it, shared by all streams. */
  get frame(): Buffer {
    this.#frame ??= this.#makeFrame();
    return this.#frame;
  }

  #makeFrame(): Buffer {
    const { topic, policy } = this;
    if (policy === undefined) return frameResponse({ $case: "missing", value: { topic } });
    return frameResponse({ $case: "deleted", value: { topic, policy: policies[policy] } });
  }
}

const policies: Readonly<Record<DeletionPolicy, buntingSyncV1.DeletionPolicy>> = {
  keep: buntingSyncV1.DeletionPolicy.DELETION_POLICY_KEEP,
  empty: buntingSyncV1.DeletionPolicy.DELETION_POLICY_EMPTY,
  close: buntingSyncV1.DeletionPolicy.DELETION_POLICY_CLOSE,
};

/** The absence in a state of a topic: the one before if it goes on. During the grace of a deletion there is none: the last snapshot counts. */
export function absenceIn(
  state: TopicState,
  topic: TopicKey,
  deletionPolicy: DeletionPolicy,
  before: Absence | undefined,
): Absence | undefined {
  const told = standing(state);
  const isSettled = told.kind === "deleted" && told.phase === "settled";
  const isMissing = told.kind === "missing" || (told.kind === "deleted" && told.snapshot === undefined);
  if (!isSettled && !isMissing) return undefined;
  const policy = isSettled ? deletionPolicy : undefined;
  return before !== undefined && before.policy === policy ? before : new Absence(topic, policy);
}
