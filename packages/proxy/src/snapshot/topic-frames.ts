import { boundedHistory, buntingSyncV1, compareUtf8, type TopicKey } from "@bunting/protocol";
import { frameMessage, framePrefixBytes, varintBytes, writeVarint } from "@bunting/rpc";
import { changedSince } from "./changed-keys.js";
import type { SnapshotBytes } from "./snapshot-bytes.js";
import type { SourceVersion } from "../source/flag-source.js";

/** A message of bunting.sync.v1 that brings an agent to a version. */
export interface VersionFrame {
  readonly kind: "unchanged" | "delta" | "snapshot";
  /** A complete gRPC frame, shared by all streams: must not be modified. */
  readonly frame: Buffer;
}

/** The parts of a snapshot that its messages are made of. */
export interface FramedVersion {
  readonly topic: TopicKey;
  readonly version: SourceVersion;
  readonly digest: string;
  readonly bytes: SnapshotBytes;
}

/** The messages of bunting.sync.v1 about one version of a topic. Each is made once, when the first agent needs it, and dropped with the version. */
export class TopicFrames {
  readonly #snapshot: FramedVersion;
  /** By the digest they start from; undefined if the snapshot is better. */
  readonly #deltas = new Map<string, VersionFrame | undefined>();
  /** By the digest that they start from; undefined if there is nothing to tell. */
  readonly #histories = new Map<string, Buffer | undefined>();
  #unchanged: VersionFrame | undefined;
  #whole: VersionFrame | undefined;

  constructor(snapshot: FramedVersion) {
    this.#snapshot = snapshot;
  }

  /** The message for an agent that holds the version with this digest; empty if it holds none. */
  from(heldDigest: string): VersionFrame {
    if (heldDigest === this.#snapshot.digest) return (this.#unchanged ??= this.#makeUnchanged());
    return this.#delta(heldDigest) ?? this.whole;
  }

  /** The whole document. */
  get whole(): VersionFrame {
    return (this.#whole ??= { kind: "snapshot", frame: this.#makeWhole() });
  }

  /**
   * What another proxy has to know beside `from` of the same digest, to bring others from older versions to this one: with a delta, the
   * versions that it skips; with the whole document, all that are known. Undefined if there are none. A complete gRPC frame, as the others.
   */
  historyFrom(heldDigest: string): Buffer | undefined {
    const { kind } = this.from(heldDigest);
    if (kind === "unchanged") return undefined;
    const from = kind === "delta" ? heldDigest : "";
    if (!this.#histories.has(from)) this.#histories.set(from, this.#makeHistory(from));
    return this.#histories.get(from);
  }

  /** Digests come from agents, which are not trusted: only those in the history are kept. */
  #delta(fromDigest: string): VersionFrame | undefined {
    if (!this.#deltas.has(fromDigest)) {
      const { history } = this.#snapshot.bytes;
      if (!history.some(({ digest }) => digest === fromDigest)) return undefined;
      this.#deltas.set(fromDigest, this.#makeDelta(fromDigest));
    }
    return this.#deltas.get(fromDigest);
  }

  #makeUnchanged(): VersionFrame {
    const { topic } = this.#snapshot;
    const value = { topic, version: this.#version };
    return { kind: "unchanged", frame: frameResponse({ $case: "unchanged", value }) };
  }

  /** Undefined if it would have more than half the bytes of the snapshot. */
  #makeDelta(fromDigest: string): VersionFrame | undefined {
    const { topic, bytes } = this.#snapshot;
    const changed = changedSince(bytes.history, fromDigest);
    if (changed === undefined) return undefined;
    const keys = [...changed.flags].sort(compareUtf8);
    // A UTF-16 unit takes at least one byte, so what is too long by this count need not be encoded.
    const characters = keys.reduce(
      (sum, key) => sum + key.length + (bytes.flags.get(key)?.text.length ?? 0),
      0,
    );
    const maxBytes = this.#wholeFrameBytes / 2;
    if (characters > maxBytes) return undefined;
    const value: buntingSyncV1.Delta = {
      topic,
      fromDigest: Buffer.from(fromDigest, "hex"),
      version: this.#version,
      flags: keys.map((key) => ({ key, flag: Buffer.from(bytes.flags.get(key)?.text ?? "") })),
      metadata: changed.metadata ? Buffer.from(bytes.metadata ?? "") : undefined,
      evaluators: changed.evaluators ? Buffer.from(bytes.evaluators ?? "") : undefined,
    };
    const frame = frameResponse({ $case: "delta", value });
    return frame.length > maxBytes ? undefined : { kind: "delta", frame };
  }

  #makeHistory(fromDigest: string): Buffer | undefined {
    const { topic, digest, bytes } = this.#snapshot;
    const history = boundedHistory(bytes.history);
    const from = history.findLastIndex((version) => version.digest === fromDigest);
    // Of one step the delta says all.
    if (history.length === 0 || from === history.length - 1) return undefined;
    const versions = history.slice(Math.max(0, from)).map((version) => ({
      ...version,
      digest: Buffer.from(version.digest, "hex"),
      flags: [...version.flags],
    }));
    return frameResponse({
      $case: "history",
      value: { topic, digest: Buffer.from(digest, "hex"), versions },
    });
  }

  /** Copies the document once, from the frame of flagd.sync.v1, behind some hundred bytes of head. */
  #makeWhole(): Buffer {
    const { syncFrame, textStart, textLength } = this.#snapshot.bytes;
    const { head, messageLength } = this.#wholeLayout;
    const frame = Buffer.allocUnsafeSlow(this.#wholeFrameBytes);
    frame.writeUInt8(0, 0);
    let at = frame.writeUInt32BE(frame.length - framePrefixBytes, 1);
    at = writeVarint(frame, snapshotTag, at);
    at = writeVarint(frame, messageLength, at);
    at += frame.write(head, at, "latin1");
    at = writeVarint(frame, documentTag, at);
    at = writeVarint(frame, textLength, at);
    syncFrame.copy(frame, at, textStart, textStart + textLength);
    return frame;
  }

  get #wholeFrameBytes(): number {
    const { messageLength } = this.#wholeLayout;
    return framePrefixBytes + 1 + varintBytes(messageLength) + messageLength;
  }

  /** The fields of Snapshot before the document, and the length of the whole message. */
  get #wholeLayout(): { readonly head: string; readonly messageLength: number } {
    const { topic, bytes } = this.#snapshot;
    const withoutDocument = { topic, version: this.#version, document: Buffer.alloc(0) };
    const head = Buffer.from(buntingSyncV1.Snapshot.encode(withoutDocument).finish()).toString("latin1");
    return { head, messageLength: head.length + 1 + varintBytes(bytes.textLength) + bytes.textLength };
  }

  get #version(): buntingSyncV1.Version {
    const { version, digest } = this.#snapshot;
    const { uid = "", generation = 0, resourceVersion = "" } = version;
    return { uid, generation: String(generation), resourceVersion, digest: Buffer.from(digest, "hex") };
  }
}

/** A complete gRPC frame of a message of the proxy. */
export function frameResponse(message: buntingSyncV1.SyncResponse["message"]): Buffer {
  return frameMessage(buntingSyncV1.SyncResponse.encode({ message }).finish());
}

/** Field 2 of SyncResponse and field 3 of Snapshot, both length-delimited. */
const snapshotTag = 0x12;
const documentTag = 0x1a;
