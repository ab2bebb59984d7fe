import { cutToBytes } from "@bunting/runtime/options";
import type {
  Delta,
  DocumentVersion,
  RejectedFlag,
  SnapshotMessage,
  Unchanged,
  VersionMessage,
} from "./bunting-messages.js";
import { encodeAck, encodeNack, encodeSubscribe } from "./encode-sync-request.js";

/** Bounds of answers, below those of proxies, which end a stream that exceeds them. */
const maxReasonBytes = 1_024;
const maxRejectedFlags = 100;
const maxRejectedKeyBytes = 1_024;
const maxRejectionBytes = 256;

/**
 * What became of a version: it is held now, but for some flags, or nothing of it was applied. After a `mismatch` the server sends the
 * whole document; after a `refusal`, nothing before there is another version.
 */
export type VersionOutcome =
  | { readonly rejectedFlags: readonly RejectedFlag[] }
  | { readonly refusal: string }
  | { readonly mismatch: string };

/** A document that a delta leads to, before it is known to be the right one. */
export interface MergedDraft {
  readonly digest: Buffer;
  /** Makes it the current document. */
  take(): VersionOutcome;
}

/** The owner of a topic's current document, in the form that it works with. */
export interface ReplicaHolder<Current extends ReplicaVersion> {
  /** The current document; undefined if there is none, or one without a digest. */
  readonly current: Current | undefined;
  /** The current document has this version, of the same digest. */
  confirm(current: Current, version: DocumentVersion): VersionOutcome;
  replace(snapshot: SnapshotMessage): VersionOutcome;
  /** Applies a delta to the current document, which it starts from; an outcome, if it can't be applied. */
  merge(current: Current, delta: Delta): MergedDraft | VersionOutcome;
}

export interface ReplicaVersion {
  /** The version by which the server knows the document. */
  readonly version: DocumentVersion;
}

/**
 * A client's copy of one topic in bunting.sync.v1: which message applies to the current document, and what is answered. It knows neither
 * connections nor the form of the document, and outlives streams: each one resumes from what the holder has.
 */
export class TopicReplica<Current extends ReplicaVersion> {
  readonly topic: string;
  readonly #holder: ReplicaHolder<Current>;
  /** The version of the last message, and that message; undefined if it was not taken. */
  #taken:
    | {
        readonly version: DocumentVersion;
        readonly number: number;
        readonly rejectedFlags: readonly RejectedFlag[];
      }
    | undefined;
  /** What was found of flags of that version after it was taken. */
  #complaints: readonly RejectedFlag[] = [];

  constructor(topic: string, holder: ReplicaHolder<Current>) {
    this.topic = topic;
    this.#holder = holder;
  }

  subscribeMessage(): Buffer {
    return encodeSubscribe(this.topic, this.#holder.current?.version);
  }

  /**
   * Takes a version. Its answer, an ack or a nack, is to be sent.
   *
   * @param number of the message in its stream
   */
  take(
    message: VersionMessage,
    number: number,
  ): { readonly answer: Buffer; readonly outcome: VersionOutcome } {
    const outcome = this.#apply(message);
    const { version } = message;
    if ("rejectedFlags" in outcome) {
      if (this.#taken?.version.digest.equals(version.digest) !== true) this.#complaints = [];
      this.#taken = { version, number, rejectedFlags: outcome.rejectedFlags };
    } else this.#taken = undefined;
    return { answer: this.#answer(outcome, message.version, number), outcome };
  }

  /** A flag of the version that was taken last turns out to be of no use. */
  complain(flag: RejectedFlag): void {
    if (this.#taken === undefined) return;
    const others = this.#complaints.filter(({ key }) => key !== flag.key);
    this.#complaints = [...others, flag].slice(0, maxRejectedFlags);
  }

  /**
   * Another answer to the version that was taken last, to be sent after the first on the same stream, also on each one that follows: it names what the
   * first one did, and the flags that were complained of. Undefined without any. Servers to which it means nothing ignore it; in the first answer
   * it would say that these flags are not served.
   */
  complaint(): Buffer | undefined {
    if (this.#taken === undefined || this.#complaints.length === 0) return undefined;
    const { version, number, rejectedFlags } = this.#taken;
    return ack(this.topic, version, number, [...this.#complaints, ...rejectedFlags]);
  }

  #apply(message: VersionMessage): VersionOutcome {
    switch (message.kind) {
      case "unchanged":
        return this.#unchanged(message);
      case "snapshot":
        return this.#holder.replace(message);
      case "delta":
        return this.#merge(message);
    }
  }

  #unchanged({ version }: Unchanged): VersionOutcome {
    const { current } = this.#holder;
    return current?.version.digest.equals(version.digest) === true
      ? this.#holder.confirm(current, version)
      : { mismatch: "the version that is called unchanged is not held" };
  }

  /** The digest shows whether the result is right: a wrong one is never taken over. */
  #merge(delta: Delta): VersionOutcome {
    const { current } = this.#holder;
    if (current?.version.digest.equals(delta.fromDigest) !== true)
      return { mismatch: "the version that the delta starts from is not held" };
    const merged = this.#holder.merge(current, delta);
    if (!("digest" in merged)) return merged;
    return merged.digest.equals(delta.version.digest)
      ? merged.take()
      : { mismatch: `the delta resulted in ${merged.digest.toString("hex")}` };
  }

  #answer(outcome: VersionOutcome, version: DocumentVersion, number: number): Buffer {
    if ("rejectedFlags" in outcome) return ack(this.topic, version, number, outcome.rejectedFlags);
    const isDeltaMismatch = "mismatch" in outcome;
    const reason = isDeltaMismatch ? outcome.mismatch : outcome.refusal;
    return encodeNack(
      { topic: this.topic, number },
      {
        currentDigest: this.#holder.current?.version.digest,
        reason: cutToBytes(reason, maxReasonBytes),
        isDeltaMismatch,
      },
    );
  }
}

function ack(
  topic: string,
  { digest }: DocumentVersion,
  number: number,
  rejectedFlags: readonly RejectedFlag[],
): Buffer {
  const named = rejectedFlags.slice(0, maxRejectedFlags).map(({ key, reason }) => ({
    key: cutToBytes(key, maxRejectedKeyBytes),
    reason: cutToBytes(reason, maxRejectionBytes),
  }));
  return encodeAck({ topic, number }, digest, named);
}
