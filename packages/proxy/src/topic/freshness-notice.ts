import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { cut, errorCode, singleLine } from "@bunting/runtime";
import { frameResponse } from "../snapshot/topic-frames.js";

/** Says whether the source of a topic can be followed. One object for each time that this, or its reason, changes. */
export class FreshnessNotice {
  readonly kind = "freshness";
  readonly topic: TopicKey;
  /** Why the source can't be followed; undefined if it can. */
  readonly reason: Error | undefined;
  #frame: Buffer | undefined;

  constructor(topic: TopicKey, reason: Error | undefined) {
    this.topic = topic;
    this.reason = reason;
  }

  /** Its message of bunting.sync.v1, shared by all streams. */
  get frame(): Buffer {
    this.#frame ??= frameResponse({
      $case: "freshness",
      value: {
        topic: this.topic,
        isStale: this.reason !== undefined,
        reason: singleLine(cut(this.reason?.message ?? "")),
        cause: staleCause(this.reason),
      },
    });
    return this.#frame;
  }

  /** True if subscribers would be told the same. */
  says(reason: Error | undefined): boolean {
    return this.reason?.message === reason?.message && staleCause(this.reason) === staleCause(reason);
  }
}

const { StaleCause } = buntingSyncV1;

/** Of the errors of sources, by their codes. All others mean that the source can't be reached. */
const causes: Readonly<Partial<Record<string, buntingSyncV1.StaleCause>>> = {
  FORBIDDEN: StaleCause.STALE_CAUSE_REFUSED,
  UNAUTHORIZED: StaleCause.STALE_CAUSE_REFUSED,
  SOURCE_REFUSED: StaleCause.STALE_CAUSE_REFUSED,
  NOT_FOUND: StaleCause.STALE_CAUSE_MISCONFIGURED,
  CONFIG_INVALID: StaleCause.STALE_CAUSE_MISCONFIGURED,
  SOURCE_MISCONFIGURED: StaleCause.STALE_CAUSE_MISCONFIGURED,
  DOCUMENT_INVALID: StaleCause.STALE_CAUSE_INVALID,
};

function staleCause(reason: Error | undefined): buntingSyncV1.StaleCause {
  if (reason === undefined) return StaleCause.STALE_CAUSE_UNSPECIFIED;
  return causes[errorCode(reason) ?? ""] ?? StaleCause.STALE_CAUSE_UNREACHABLE;
}
