import { readFlagSequence, readSequence } from "../fixtures/sequenced-document.js";
import { dataFrame } from "./http2-frames.js";
import type { MessageHead, MessageKind } from "./message-head.js";
import type { SubscriberProtocol } from "./subscriber-protocol.js";

/**
 * The part of bunting.sync.v1 (docs/bunting-sync-v1.md) that a counted subscriber needs: hello, one subscription that holds nothing, and an
 * ack for every snapshot, delta and unchanged. Written by hand, because with a codec that makes objects the codec would be measured.
 */
export function buntingProtocol(topic: string): SubscriberProtocol {
  const reader = new BuntingHeads(topic);
  const hello = message(requestField.hello, field(1, Buffer.from("bunting-bench")));
  const subscribe = message(requestField.subscribe, field(1, Buffer.from(topic)));
  return {
    path: "/bunting.sync.v1.SyncService/Sync",
    headers: [],
    opening: Buffer.concat([hello, subscribe]),
    isHalfClosed: false,
    // Topic, digests, version, and the flag with the number, which sorts first.
    headBytes: 512,
    readHead: (bytes, start, end) => reader.read(bytes, start, end),
  };
}

const requestField = { hello: 1, subscribe: 2, ack: 4 } as const;
const responseField = { unchanged: 1, snapshot: 2, delta: 3 } as const;
const digestField = 4;
const digestBytes = 32;
const streamId = 1;

/** The fields of the version and of the content that follows it, in a snapshot, a delta and an unchanged. */
const layouts: Readonly<Record<number, { kind: MessageKind; version: number; content: number }>> = {
  [responseField.unchanged]: { kind: "other", version: 2, content: 0 },
  [responseField.snapshot]: { kind: "snapshot", version: 2, content: 3 },
  [responseField.delta]: { kind: "delta", version: 3, content: 4 },
};
const unanswered: MessageHead = { kind: "other", sequence: -1 };

class BuntingHeads {
  readonly #topic: string;
  #digest = Buffer.alloc(0);
  #head = unanswered;
  /** The current offset; advanced by `#varint`. */
  #at = 0;

  constructor(topic: string) {
    this.#topic = topic;
  }

  read(bytes: Buffer, start: number, end: number): MessageHead {
    this.#at = start;
    const layout = layouts[this.#varint(bytes) >>> 3];
    if (layout === undefined) return unanswered;
    this.#varint(bytes);
    let digestAt = -1;
    let sequence = -1;
    while (this.#at < end) {
      const number = this.#varint(bytes) >>> 3;
      const until = this.#varint(bytes) + this.#at;
      if (number === layout.version) digestAt = this.#findDigest(bytes, until);
      if (number === layout.content) {
        const read = layout.kind === "delta" ? readFlagSequence : readSequence;
        sequence = read(bytes, this.#at, end);
        break;
      }
      this.#at = until;
    }
    if (digestAt < 0 || digestAt + digestBytes > end)
      throw new Error("a version without a digest of 32 bytes");
    return this.#headOf(layout.kind, sequence, bytes.subarray(digestAt, digestAt + digestBytes));
  }

  #headOf(kind: MessageKind, sequence: number, digest: Buffer): MessageHead {
    if (kind !== this.#head.kind || sequence !== this.#head.sequence || !this.#digest.equals(digest)) {
      this.#digest = Buffer.from(digest);
      this.#head = { kind, sequence, answer: acksOf(this.#topic, this.#digest) };
    }
    return this.#head;
  }

  #findDigest(bytes: Buffer, end: number): number {
    while (this.#at < end) {
      const tag = this.#varint(bytes);
      const value = this.#varint(bytes);
      const isNumber = (tag & 7) === 0;
      if (tag >>> 3 === digestField && value === digestBytes) return this.#at;
      if (!isNumber) this.#at += value;
    }
    return -1;
  }

  #varint(bytes: Buffer): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
}

/** The ack of one version, made once for each number that the version has on a stream; nearly all streams have it at the same number. */
function acksOf(topic: string, digest: Buffer): (number: number) => Buffer {
  const acks = new Map<number, Buffer>();
  return (number) => {
    let ack = acks.get(number);
    if (ack === undefined) {
      const fields = Buffer.concat([field(1, Buffer.from(topic)), varintField(2, number), field(3, digest)]);
      ack = dataFrame(streamId, message(requestField.ack, fields), false);
      acks.set(number, ack);
    }
    return ack;
  };
}

/** A gRPC message of a SyncRequest whose oneof is this field. */
function message(number: number, content: Buffer): Buffer {
  const bytes = field(number, content);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** A field of protobuf with a number in it. */
function varintField(number: number, value: number): Buffer {
  const bytes = [number << 3];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** A field of protobuf with bytes in it, fewer than 128. */
function field(number: number, content: Buffer): Buffer {
  if (content.length > 127) throw new Error("a topic of bench is longer than its codec knows of");
  return Buffer.concat([Buffer.of((number << 3) | 2, content.length), content]);
}
