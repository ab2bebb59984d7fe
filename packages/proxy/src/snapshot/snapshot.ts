import type { SourceVersion } from "../source/flag-source.js";
import type { PastVersion, TopicKey } from "@bunting/protocol";
import { frameMessage, framePrefixBytes } from "@bunting/rpc";
import { HeldFrame, smallFrameBytes, type FrameHolder } from "@bunting/server";
import { GzipFrame } from "./gzip-frame.js";
import type { SnapshotBytes } from "./snapshot-bytes.js";
import { TopicFrames } from "./topic-frames.js";

export interface SnapshotProperties {
  readonly topic: TopicKey;
  readonly sequence: number;
  readonly version: SourceVersion;
  readonly publishedMs: number;
  readonly bytes: SnapshotBytes;
}

/** Frames made from a document's bytes on first use. They survive an edit that does not touch the flags. */
interface DerivedFrames {
  legacySync?: Buffer;
  gzipSync?: GzipFrame;
  gzipLegacySync?: GzipFrame;
  fetchAll?: Buffer;
}

/**
 * One immutable version of a topic's document with the bytes that all subscribers share. Nearly all stock clients speak flagd.sync.v1, so
 * its frame always exists; the other messages are views of it, or made from it on first use:
 *
 *     gRPC prefix │ 0a, length, the document's JSON │ 12 00
 *                   ╰─ FetchAllFlagsResponse ─────╯   ╰─ sync_context, empty but set; legacy has 10 01 here, state = ALL
 */
export class Snapshot {
  readonly topic: TopicKey;
  /** The number of the topic's versions so far; orders its snapshots. */
  readonly sequence: number;
  readonly version: SourceVersion;
  /** When the topic published it, in ms of the monotonic clock. */
  readonly publishedMs: number;
  readonly bytes: SnapshotBytes;
  readonly #derived: DerivedFrames;
  #topicFrames: TopicFrames | undefined;
  #held: HeldFrame | undefined;

  constructor(properties: SnapshotProperties, derived: DerivedFrames = {}) {
    this.topic = properties.topic;
    this.sequence = properties.sequence;
    this.version = properties.version;
    this.publishedMs = properties.publishedMs;
    this.bytes = properties.bytes;
    this.#derived = derived;
  }

  get digest(): string {
    return this.bytes.digest;
  }

  /** A stream is still sent this version, although there is a newer one: it is charged for it, or another one is that holds it too. */
  holdFor(stream: FrameHolder): void {
    if (this.bytes.syncFrame.byteLength < smallFrameBytes) return;
    // Beside the frame, the texts of the flags.
    this.#held ??= new HeldFrame(2 * this.bytes.syncFrame.byteLength, true);
    this.#held.hold(stream);
  }

  /** The stream has taken it, or has ended. */
  letGo(stream: FrameHolder): void {
    this.#held?.release(stream);
  }

  get syncFrame(): Buffer {
    return this.bytes.syncFrame;
  }

  /** A complete gRPC frame of sync.v1 SyncFlagsResponse with state = SYNC_STATE_ALL: sidecars of that time ignore all others. */
  get legacySyncFrame(): Buffer {
    this.#derived.legacySync ??= withSuffix(this.bytes.syncFrame, stateAll);
    return this.#derived.legacySync;
  }

  /** `syncFrame` for streams that accept gzip. */
  get gzipSyncFrame(): GzipFrame {
    this.#derived.gzipSync ??= new GzipFrame(this.bytes.syncFrame);
    return this.#derived.gzipSync;
  }

  /** `legacySyncFrame` for streams that accept gzip. */
  get gzipLegacySyncFrame(): GzipFrame {
    this.#derived.gzipLegacySync ??= new GzipFrame(this.legacySyncFrame);
    return this.#derived.gzipLegacySync;
  }

  /** The messages of bunting.sync.v1. They contain the version of the object, and are made anew when that changes. */
  get topicFrames(): TopicFrames {
    this.#topicFrames ??= new TopicFrames(this);
    return this.#topicFrames;
  }

  /** A complete gRPC frame of FetchAllFlagsResponse, the same in flagd.sync.v1 and sync.v1. */
  get fetchAllFrame(): Buffer {
    const { syncFrame, textStart, textLength } = this.bytes;
    this.#derived.fetchAll ??= frameMessage(syncFrame.subarray(framePrefixBytes, textStart + textLength));
    return this.#derived.fetchAll;
  }

  /** The document as canonical JSON. */
  get text(): string {
    const { syncFrame, textStart, textLength } = this.bytes;
    return syncFrame.toString("utf8", textStart, textStart + textLength);
  }

  /**
   * The same document at a later version of its object: an edit that did not touch the flags.
   *
   * @param reported its history, as far as its source knows it
   */
  at(version: SourceVersion, reported: readonly PastVersion[] = []): Snapshot {
    const { topic, sequence, publishedMs } = this;
    const { history } = this.bytes;
    const bytes = reported.length > history.length ? { ...this.bytes, history: reported } : this.bytes;
    return new Snapshot({ topic, sequence, version, publishedMs, bytes }, this.#derived);
  }
}

/** `sync_context` (field 2 of flagd.sync.v1 SyncFlagsResponse) as an empty Struct: some clients conclude from its absence that the server is old. */
export const emptySyncContext = Uint8Array.of(0x12, 0x00);
/** `state` (field 2 of sync.v1 SyncFlagsResponse) as SYNC_STATE_ALL. As long as `emptySyncContext`, so that lengths agree. */
const stateAll = Uint8Array.of(0x10, 0x01);

function withSuffix(frame: Buffer, suffix: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(frame.length);
  frame.copy(copy);
  copy.set(suffix, frame.length - suffix.length);
  return copy;
}
