import { cutToBytes } from "@bunting/runtime";
import {
  type Delta,
  type DocumentVersion,
  encodeAck,
  encodeNack,
  type SnapshotMessage,
  type Unchanged,
  versionOfDigest,
} from "@bunting/sync-client/messages";
import type { InvalidFlag } from "@bunting/evaluation";
import type { DocumentIndex } from "../document/document-index.js";
import type { Slice } from "../document/slice.js";
import { digestDocument, hashFlags } from "./flag-hashes.js";
import type { SyncSourceOptions } from "./sync-source.js";
import { mergeDelta } from "./merge-delta.js";

/** Bound of the reason in a nack: the proxy ends a stream that exceeds it. */
const maxReasonBytes = 1024;
/** Bounds of an ack, below those of the proxy, which ends a stream that exceeds them. */
const maxRejectedFlags = 100;
const maxRejectedKeyBytes = 1024;
const maxRejectionBytes = 256;

/** The document that stands for a deleted topic with the deletion policy `empty`. */
const emptyDocument = Buffer.from('{"flags":{}}');

/**
 * The agent's document for one topic, updated by the proxy's messages. It outlives streams.
 *
 * The document belongs to the store and is not copied. The hashes of its flags are computed when they are first needed, so never, if no flag
 * is edited.
 */
export class TopicDocument {
  readonly #topic: string;
  readonly #sourceIndex: number;
  readonly #options: Pick<SyncSourceOptions, "receiver" | "context">;
  /** `hashes` is undefined if the document has no digest. */
  #hashed: { readonly bytes: Buffer; readonly hashes: Buffer | undefined } | undefined;

  constructor(topic: string, sourceIndex: number, options: Pick<SyncSourceOptions, "receiver" | "context">) {
    this.#topic = topic;
    this.#sourceIndex = sourceIndex;
    this.#options = options;
  }

  /** The version that the agent reports to the proxy as its own; undefined if the agent holds no document, or one without a digest. */
  version(): DocumentVersion | undefined {
    const current = this.#options.receiver.currentDocument(this.#sourceIndex);
    return current?.version ?? (current && this.#computeVersion(current.layout));
  }

  /**
   * Applies a message and returns the answer to it, an ack or a nack.
   *
   * @param number its place among the messages of the stream
   */
  take(message: Unchanged | SnapshotMessage | Delta, number: number): Buffer {
    switch (message.kind) {
      case "unchanged":
        return this.#takeUnchanged(message, number);
      case "snapshot":
        return this.#replace(message.document, message.version, number);
      case "delta":
        return this.#takeDelta(message, number);
    }
  }

  /** Serves no flags, and deletes the last-known-good copy. */
  empty(): void {
    this.#options.receiver.deliver({
      sourceIndex: this.#sourceIndex,
      bytes: emptyDocument,
      isDeletion: true,
    });
  }

  #takeUnchanged({ version }: Unchanged, number: number): Buffer {
    const current = this.#options.receiver.currentDocument(this.#sourceIndex);
    const currentDigest = this.version()?.digest;
    if (current === undefined || currentDigest?.equals(version.digest) !== true)
      return this.#mismatch(number, "the agent does not hold the version that the proxy calls unchanged");
    if (current.version?.encoded.equals(version.encoded) !== true)
      this.#options.receiver.confirm(this.#sourceIndex, version);
    return this.#ack(number, version, current.rejectedFlags);
  }

  #takeDelta(delta: Delta, number: number): Buffer {
    const layout = this.#options.receiver.currentDocument(this.#sourceIndex)?.layout;
    if (layout === undefined || this.version()?.digest.equals(delta.fromDigest) !== true)
      return this.#mismatch(number, "the agent does not hold the version that the delta starts from");
    const hashes = this.#hashesOf(layout);
    if (hashes === undefined)
      return this.#mismatch(number, "the flags of the agent's document are not sorted by key");
    const merged = mergeDelta(layout, hashes, delta);
    if (!merged.digest.equals(delta.version.digest))
      return this.#mismatch(number, `the delta resulted in ${merged.digest.toString("hex")}`);
    const answer = this.#replace(merged.bytes, delta.version, number);
    // The merged document is the store's current one, unless it was refused.
    if (this.#options.receiver.currentDocument(this.#sourceIndex)?.layout.bytes === merged.bytes)
      this.#hashed = { bytes: merged.bytes, hashes: merged.hashes };
    return answer;
  }

  #replace(bytes: Buffer, version: DocumentVersion, number: number): Buffer {
    const result = this.#options.receiver.deliver({
      sourceIndex: this.#sourceIndex,
      bytes,
      version,
    });
    return "refusal" in result
      ? this.#nack(number, result.refusal, "refused")
      : this.#ack(number, version, result.rejectedFlags);
  }

  #ack(number: number, { digest }: DocumentVersion, rejectedFlags: readonly InvalidFlag[]): Buffer {
    const named = rejectedFlags.slice(0, maxRejectedFlags).map(({ key, reason }) => ({
      key: cutToBytes(key, maxRejectedKeyBytes),
      reason: cutToBytes(reason, maxRejectionBytes),
    }));
    return encodeAck({ topic: this.#topic, number }, digest, named);
  }

  #mismatch(number: number, reason: string): Buffer {
    return this.#nack(number, reason, "mismatch");
  }

  #nack(number: number, reason: string, kind: "refused" | "mismatch"): Buffer {
    this.#options.context.metrics.nacked(this.#sourceIndex, kind);
    return encodeNack(
      { topic: this.#topic, number },
      {
        currentDigest: this.version()?.digest,
        reason: cutToBytes(reason, maxReasonBytes),
        isDeltaMismatch: kind === "mismatch",
      },
    );
  }

  #hashesOf(layout: DocumentIndex): Buffer | undefined {
    if (this.#hashed?.bytes !== layout.bytes)
      this.#hashed = { bytes: layout.bytes, hashes: hashFlags(layout) };
    return this.#hashed.hashes;
  }

  /** For a document without a version: received over flagd.sync.v1, or written to disk by an older agent. Equal documents have equal digests. */
  #computeVersion(layout: DocumentIndex): DocumentVersion | undefined {
    const hashes = this.#hashesOf(layout);
    if (hashes === undefined) return undefined;
    const { bytes, entries, metadata, evaluators } = layout;
    const part = (slice: Slice | undefined): Buffer | undefined =>
      slice && bytes.subarray(slice.start, slice.end);
    return versionOfDigest(
      digestDocument({
        ids: entries.ids,
        hashes,
        metadata: part(metadata),
        evaluators: part(evaluators),
      }),
    );
  }
}
