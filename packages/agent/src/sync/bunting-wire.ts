import { digestBytes } from "@bunting/protocol";
import {
  booleanField,
  bytesField,
  MalformedMessageError,
  numberField,
  readFields,
  textField,
} from "./protobuf.js";

export const syncPath = "/bunting.sync.v1.SyncService/Sync";

/** By which version of a topic the agent and its proxy know that they mean the same document. */
export interface DocumentVersion {
  /** SHA-256 of the document; see docs/bunting-sync-v1.md. */
  readonly digest: Buffer;
  /** The whole Version message, to be told again as it came: what else is in it is the proxy's business. */
  readonly encoded: Buffer;
}

export interface FlagChange {
  readonly key: string;
  /** Canonical JSON; empty if the flag is gone. */
  readonly flag: Buffer;
}

export interface RejectedFlag {
  readonly key: string;
  readonly reason: string;
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
  readonly flags: readonly FlagChange[];
  /** undefined: as before; empty: there is none any more. */
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
  /** What this agent does not know it takes for `keep`. */
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

/** `unknown` is what a later proxy may send. Documents share memory with the message. */
export type SyncResponse =
  | Unchanged
  | Snapshot
  | Delta
  | Missing
  | Deleted
  | TopicError
  | { readonly kind: "heartbeat" }
  | { readonly kind: "unknown" };

/** A Version that tells of nothing but the digest. */
export function versionOfDigest(digest: Buffer): DocumentVersion {
  return { digest, encoded: bytesField(4, digest) };
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
  return bytesField(1, Buffer.concat([textField(1, hello.agent), textField(2, hello.providerId)]));
}

export function encodeSubscribe(topic: string, held: DocumentVersion | undefined): Buffer {
  const version = held === undefined ? Buffer.alloc(0) : bytesField(2, held.encoded);
  return bytesField(2, Buffer.concat([textField(1, topic), version]));
}

/** Which message of the proxy an answer is for. */
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
  const rejected = rejectedFlags.map(({ key, reason }) =>
    bytesField(4, Buffer.concat([textField(1, key), textField(2, reason)])),
  );
  const fields = [textField(1, topic), numberField(2, number), bytesField(3, digest), ...rejected];
  return bytesField(4, Buffer.concat(fields));
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
  return bytesField(
    5,
    Buffer.concat([
      textField(1, topic),
      numberField(2, number),
      heldDigest === undefined ? Buffer.alloc(0) : bytesField(3, heldDigest),
      textField(4, reason),
      booleanField(5, isDeltaMismatch),
    ]),
  );
}

/**
 * Takes a SyncResponse apart. The fields of all messages in it are numbered so that one look at each serves them all.
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
      flags: fields.all(4).map(decodeFlagChange),
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

function decodeFlagChange(message: Buffer): FlagChange {
  const fields = new Fields(message);
  return { key: fields.text(1), flag: fields.bytes(2) };
}

/** The fields of one message. Of a field that is there several times the last one counts, except for `all`. */
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

  /** An int32: what is negative, or more than one, is 0. */
  number(field: number): number {
    const value = this.#values.findLast(([at, content]) => at === field && typeof content === "number")?.[1];
    return typeof value === "number" && value <= 0x7fff_ffff ? value : 0;
  }
}
