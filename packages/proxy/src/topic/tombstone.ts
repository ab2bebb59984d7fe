import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { ProxyError } from "../proxy-error.js";
import { frameResponse } from "../snapshot/topic-frames.js";

export type DeletionPolicy = "keep" | "empty" | "close";

/** Says that a topic has no document (any more), and what agents do about it. One object for each time that becomes true. */
export class Tombstone {
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

  /** Its message of bunting.sync.v1, shared by all streams. */
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

/** The error for subscribers that don't wait for a document. */
export function topicMissing(topic: TopicKey): ProxyError {
  return new ProxyError(
    "TOPIC_MISSING",
    `the FeatureFlag ${topic} does not exist; create it, or correct the selector`,
  );
}
