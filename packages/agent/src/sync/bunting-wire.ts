import type { RejectedFlag } from "@bunting/evaluation";
import { digestBytes } from "@bunting/protocol";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { asBuffer, MalformedMessageError, readFields } from "./message-fields.js";

export const syncPath = "/bunting.sync.v1.SyncService/Sync";

/** The wire type of text, bytes and messages. */
const len = WireType.LengthDelimited;

/** The version of a topic, by which the agent and its proxy know that they mean the same document. */
export interface DocumentVersion {
  /** SHA-256 of the document; see docs/bunting-sync-v1.md. */
  readonly digest: Buffer;
  /** The whole Version message as it came, to be sent back: its other fields concern the proxy only. */
  readonly encoded: Buffer;
}

/** One flag of a delta. */
export interface DeltaFlag {
  readonly key: string;
  /** Canonical JSON; empty if the flag is gone. */
  readonly flag: Buffer;
}

export interface Unchanged {
  readonly kind: "unchanged";
  readonly topic: string;
  readonly version: DocumentVersion;
}

export interface Snapshot {
  readonly kind: "snapshot";
  readonly topic: string;
  readonly version: DocumentVersion;
  readonly document: Buffer;
}

export interface Delta {
  readonly kind: "delta";
  readonly topic: string;
  readonly fromDigest: Buffer;
  readonly version: DocumentVersion;
  /** In the order of their keys, as UTF-8. */
  readonly flags: readonly DeltaFlag[];
  /** undefined: as before; empty: removed. */
  readonly metadata: Buffer | undefined;
  readonly evaluators: Buffer | undefined;
}

export interface Missing {
  readonly kind: "missing";
  readonly topic: string;
}

export interface Deleted {
  readonly kind: "deleted";
  readonly topic: string;
  /** A policy that this agent does not know counts as `keep`. */
  readonly policy: "keep" | "empty" | "close";
}

export interface TopicError {
  readonly kind: "topic_error";
  readonly topic: string;
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** 0 leaves it to the agent. */
  readonly retryAfterMs: number;
}

/** `unknown` is a message that a later proxy may send. Documents share memory with the message. */
export type SyncResponse =
  | Unchanged
  | Snapshot
  | Delta
  | Missing
  | Deleted
  | TopicError
  | { readonly kind: "heartbeat" }
  | { readonly kind: "unknown" };

/** A Version with nothing but the digest. */
export function versionOfDigest(digest: Buffer): DocumentVersion {
  return { digest, encoded: finish(new BinaryWriter().tag(4, len).bytes(digest)) };
}

/** @throws MalformedMessageError */
export function decodeVersion(message: Buffer): DocumentVersion {
  let digest = message.subarray(0, 0);
  readFields(message, (field, value) => {
    if (field === 4 && typeof value !== "number") digest = value;
  });
  if (digest.length !== digestBytes)
    throw new MalformedMessageError(`a digest of ${digest.length} instead of ${digestBytes} bytes`);
  // A copy, because it outlives the message.
  return { digest: Buffer.from(digest), encoded: Buffer.from(message) };
}

export function encodeHello(hello: { readonly agent: string; readonly providerId: string }): Buffer {
  const writer = new BinaryWriter().tag(1, len).fork();
  writer.tag(1, len).string(hello.agent);
  writer.tag(2, len).string(hello.providerId);
  return finish(writer.join());
}

export function encodeSubscribe(topic: string, held: DocumentVersion | undefined): Buffer {
  const writer = new BinaryWriter().tag(2, len).fork();
  writer.tag(1, len).string(topic);
  if (held !== undefined) writer.tag(2, len).bytes(held.encoded);
  return finish(writer.join());
}

/** The message of the proxy that an answer is for. */
export interface AnsweredMessage {
  readonly topic: string;
  /** Its place among all messages of the stream; the first is 1. */
  readonly number: number;
}

export function encodeAck(
  { topic, number }: AnsweredMessage,
  digest: Buffer,
  rejectedFlags: readonly RejectedFlag[],
): Buffer {
  const writer = new BinaryWriter().tag(4, len).fork();
  writer.tag(1, len).string(topic);
  writer.tag(2, WireType.Varint).uint64(number);
  writer.tag(3, len).bytes(digest);
  for (const { key, reason } of rejectedFlags)
    writer.tag(4, len).fork().tag(1, len).string(key).tag(2, len).string(reason).join();
  return finish(writer.join());
}

export function encodeNack(
  { topic, number }: AnsweredMessage,
  nack: {
    /** undefined if nothing is held. */
    readonly heldDigest: Buffer | undefined;
    readonly reason: string;
    readonly isDeltaMismatch: boolean;
  },
): Buffer {
  const { heldDigest, reason, isDeltaMismatch } = nack;
  const writer = new BinaryWriter().tag(5, len).fork();
  writer.tag(1, len).string(topic);
  writer.tag(2, WireType.Varint).uint64(number);
  if (heldDigest !== undefined) writer.tag(3, len).bytes(heldDigest);
  writer.tag(4, len).string(reason);
  writer.tag(5, WireType.Varint).bool(isDeltaMismatch);
  return finish(writer.join());
}

function finish(writer: BinaryWriter): Buffer {
  return asBuffer(writer.finish());
}

/**
 * Decodes a SyncResponse.
 *
 * @throws MalformedMessageError
 */
export function decodeSyncResponse(message: Buffer): SyncResponse {
  let response: SyncResponse = { kind: "unknown" };
  readFields(message, (field, value) => {
    if (typeof value !== "number") response = decoders[field]?.(value) ?? response;
  });
  return response;
}

const decoders: Readonly<Record<number, (message: Buffer) => SyncResponse>> = {
  1: (message) => {
    const fields = new Fields(message);
    return { kind: "unchanged", topic: fields.text(1), version: decodeVersion(fields.bytes(2)) };
  },
  2: (message) => {
    const fields = new Fields(message);
    const version = decodeVersion(fields.bytes(2));
    return { kind: "snapshot", topic: fields.text(1), version, document: fields.bytes(3) };
  },
  3: (message) => {
    const fields = new Fields(message);
    return {
      kind: "delta",
      topic: fields.text(1),
      fromDigest: fields.bytes(2),
      version: decodeVersion(fields.bytes(3)),
      flags: fields.all(4).map(decodeDeltaFlag),
      metadata: fields.optionalBytes(5),
      evaluators: fields.optionalBytes(6),
    };
  },
  4: (message) => ({ kind: "missing", topic: new Fields(message).text(1) }),
  5: (message) => {
    const fields = new Fields(message);
    return { kind: "deleted", topic: fields.text(1), policy: policies[fields.number(2)] ?? "keep" };
  },
  6: (message) => {
    const fields = new Fields(message);
    return {
      kind: "topic_error",
      topic: fields.text(1),
      code: fields.number(2),
      message: fields.text(3),
      retryAfterMs: fields.number(4),
    };
  },
  7: () => ({ kind: "heartbeat" }),
};

const policies: Readonly<Record<number, Deleted["policy"]>> = { 1: "keep", 2: "empty", 3: "close" };

function decodeDeltaFlag(message: Buffer): DeltaFlag {
  const fields = new Fields(message);
  return { key: fields.text(1), flag: fields.bytes(2) };
}

/** The fields of one message. If a field comes several times the last one counts, except for `all`. */
class Fields {
  readonly #values: (readonly [field: number, value: Buffer | number])[] = [];

  constructor(message: Buffer) {
    readFields(message, (field, value) => this.#values.push([field, value]));
  }

  all(field: number): Buffer[] {
    return this.#values.flatMap(([at, value]) => (at === field && typeof value !== "number" ? value : []));
  }

  optionalBytes(field: number): Buffer | undefined {
    return this.all(field).at(-1);
  }

  bytes(field: number): Buffer {
    return this.optionalBytes(field) ?? Buffer.alloc(0);
  }

  text(field: number): string {
    return this.bytes(field).toString();
  }

  /** An int32; 0 if it is absent or negative. */
  number(field: number): number {
    const value = this.#values.findLast(([at, content]) => at === field && typeof content === "number")?.[1];
    return typeof value === "number" ? Math.max(0, value) : 0;
  }
}
