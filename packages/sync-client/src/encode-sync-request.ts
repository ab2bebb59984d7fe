import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { AnsweredMessage, DocumentVersion, RejectedFlag, SourceList } from "./bunting-messages.js";
import { asBuffer } from "./message-fields.js";

/** The wire type of text, bytes and messages. */
const len = WireType.LengthDelimited;

/** A Version with nothing but the digest. */
export function versionOfDigest(digest: Buffer): DocumentVersion {
  return { digest, encoded: finish(new BinaryWriter().tag(4, len).bytes(digest)) };
}

export function encodeHello(hello: {
  readonly agent: string;
  readonly providerId: string;
  readonly isProxy?: boolean;
  /** The client is no proxy, and is to be told whether the source can be followed. */
  readonly readsFreshness?: boolean;
  /** What the client is called among others, whichever proxy it asks; absent: it tries no version that others do not have. */
  readonly instance?: string;
  /** The client is a proxy whose agents try versions. */
  readonly readsTrials?: boolean;
  /** What the client is to be told the FeatureFlags of. */
  readonly sources?: SourceList | undefined;
}): Buffer {
  const writer = new BinaryWriter().tag(1, len).fork();
  writer.tag(1, len).string(hello.agent);
  writer.tag(2, len).string(hello.providerId);
  if (hello.isProxy === true) writer.tag(3, WireType.Varint).bool(true);
  if (hello.readsFreshness === true) writer.tag(4, WireType.Varint).bool(true);
  if (hello.instance !== undefined) writer.tag(5, len).string(hello.instance);
  if (hello.readsTrials === true) writer.tag(6, WireType.Varint).bool(true);
  if (hello.sources !== undefined) {
    const { namespace, text, digest } = hello.sources;
    writer.tag(7, len).fork().tag(1, len).string(namespace).tag(2, len).string(text);
    writer.tag(3, len).string(digest).join();
  }
  return finish(writer.join());
}

/** @param trialDigest of the version that a proxy has its agents try */
export function encodeSubscribe(
  topic: string,
  current: DocumentVersion | undefined,
  trialDigest?: Buffer,
): Buffer {
  const writer = new BinaryWriter().tag(2, len).fork();
  writer.tag(1, len).string(topic);
  if (current !== undefined) writer.tag(2, len).bytes(current.encoded);
  if (trialDigest !== undefined) writer.tag(3, len).bytes(trialDigest);
  return finish(writer.join());
}

export function encodeUnsubscribe(topic: string): Buffer {
  return finish(new BinaryWriter().tag(3, len).fork().tag(1, len).string(topic).join());
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
    /** Digest of the document that the client has now; undefined if it has none. */
    readonly currentDigest: Buffer | undefined;
    readonly reason: string;
    readonly isDeltaMismatch: boolean;
  },
): Buffer {
  const { currentDigest, reason, isDeltaMismatch } = nack;
  const writer = new BinaryWriter().tag(5, len).fork();
  writer.tag(1, len).string(topic);
  writer.tag(2, WireType.Varint).uint64(number);
  if (currentDigest !== undefined) writer.tag(3, len).bytes(currentDigest);
  writer.tag(4, len).string(reason);
  writer.tag(5, WireType.Varint).bool(isDeltaMismatch);
  return finish(writer.join());
}

function finish(writer: BinaryWriter): Buffer {
  return asBuffer(writer.finish());
}
