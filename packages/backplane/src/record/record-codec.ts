import { promisify } from "node:util";
import { constants, gunzip, gunzipSync, gzip, gzipSync } from "node:zlib";
import {
  documentHeapBytes,
  encodeDocument,
  historyFromJson,
  historyHeapBytes,
  historyToJson,
  isJsonObject,
  normalising,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
  type PastVersion,
  type TopicKey,
} from "@bunting/protocol";
import { runInSlices, Semaphore, type DocumentRoom } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import { isPosition, requirePosition } from "./position.js";
import type { RecordKeys } from "./record-keys.js";
import type { RecordedTrial, TopicRecord } from "./topic-record.js";

/** A record as it is in Redis. */
export interface EncodedRecord {
  readonly body: Buffer;
  readonly signature: Buffer;
}

/** The first line of a body, in JSON; the rest is the document, compressed, if there is one. */
interface Head {
  readonly topic: string;
  readonly kind: string;
  readonly epoch: number;
  readonly resourceVersion: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly readers?: readonly string[];
  readonly provider?: JsonObject;
  /** Bytes of the document before compression. */
  readonly bytes?: number;
  /** As JSON of a history. Releases from before there was one do not read it. */
  readonly history?: unknown;
  /** Releases from before there was one do not read it, and have all agents keep the document. */
  readonly trial?: TrialHead;
}

/** A newer document, in base64, in the head: it has no room for very large ones, and replicas watch these for themselves. */
interface TrialHead {
  readonly digest: string;
  readonly reach: number;
  readonly generation?: number;
  readonly bytes: number;
  readonly packed: string;
}

const format = 1;
const maxHeadBytes = 256 * 1024;
/** Larger documents are read one after the other: a few kilobytes can become 16 MB outside of the heap, where no budget counts them. */
const maxReadTogetherBytes = 256 * 1024;
const lineFeed = 10;
/** Most of what gzip saves, for a third of its time. */
const level = 3;
/** Smaller documents are (de)compressed on the main thread, in some 0.2 ms: waiting for another thread takes longer. */
const minThreadBytes = 32 * 1024;
const compressElsewhere = promisify<Buffer, object, Buffer>(gzip);
const decompressElsewhere = promisify<Buffer, object, Buffer>(gunzip);

/** Encodes and decodes records. A record from Redis is checked before it costs memory: other software may write there. */
export class RecordCodec {
  readonly #maxDocumentBytes: number;
  readonly #keys: () => RecordKeys;
  readonly #room: DocumentRoom;
  readonly #prepare: (document: FlagDocument) => Promise<void>;
  readonly #reading = new Semaphore(1);

  /**
   * @param keys called each time, because the keys may be rotated
   * @param prepare does most of the work on a large document in slices, before the document is reported
   */
  constructor(
    maxDocumentBytes: number,
    keys: () => RecordKeys,
    room: DocumentRoom,
    prepare: (document: FlagDocument) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#prepare = prepare;
    this.#maxDocumentBytes = maxDocumentBytes;
    this.#keys = keys;
    this.#room = room;
  }

  /** The most bytes of a body. Incompressible documents grow a little by gzip. */
  get maxBodyBytes(): number {
    return maxHeadBytes + this.#maxDocumentBytes + 1024;
  }

  /** Rejects with RECORD_TOO_LARGE or RECORD_MALFORMED. */
  async encode(record: TopicRecord): Promise<EncodedRecord> {
    requirePosition(record);
    const { document, history, trial, ...fields } = { history: undefined, trial: undefined, ...record };
    const text = document === undefined ? undefined : Buffer.from(encodeDocument(document));
    const bytes = text?.length ?? 0;
    if (bytes > this.#maxDocumentBytes)
      throw tooLarge(`its document has ${bytes} bytes`, this.#maxDocumentBytes);
    const tried = trial === undefined ? {} : { trial: await this.#packTrial(trial) };
    const needed = { format, ...fields, ...(text === undefined ? {} : { bytes }), ...tried };
    const head = headWith(needed, history) ?? JSON.stringify(needed);
    const headBytes = Buffer.byteLength(head);
    if (headBytes >= maxHeadBytes) throw tooLarge(`its head has ${headBytes} bytes`, maxHeadBytes);
    const packed = text === undefined ? Buffer.alloc(0) : await compress(text);
    const body = Buffer.concat([Buffer.from(`${head}\n`), packed]);
    return { body, signature: this.#keys().sign(record.topic, body) };
  }

  /** Rejects with RECORD_TOO_LARGE, RECORD_UNVERIFIED, RECORD_FOREIGN, RECORD_MALFORMED or RECORD_NO_ROOM. */
  async decode(topic: TopicKey, { body, signature }: EncodedRecord): Promise<TopicRecord> {
    if (body.length > this.maxBodyBytes) throw tooLarge(`it has ${body.length} bytes`, this.maxBodyBytes);
    if (!this.#keys().verify(topic, body, signature))
      throw new BackplaneError("RECORD_UNVERIFIED", "the record is not signed with one of the keys in use");
    const end = body.subarray(0, maxHeadBytes).indexOf(lineFeed);
    if (end < 0) throw malformed("it has no head");
    const head = readHead(body.subarray(0, end));
    if (head.topic !== topic)
      throw new BackplaneError("RECORD_FOREIGN", "the record is one of another topic");
    const { bytes, history, trial, ...fields } = head;
    const packed = body.subarray(end + 1);
    if (bytes === undefined) {
      if (head.kind === "document" || packed.length > 0)
        throw malformed("its head says nothing of its document");
      return fields as TopicRecord;
    }
    if (bytes > this.#maxDocumentBytes)
      throw tooLarge(`its document has ${bytes} bytes`, this.#maxDocumentBytes);
    const read = (): Promise<FlagDocument> => this.#readDocument(packed, bytes);
    const document =
      bytes > maxReadTogetherBytes
        ? await this.#reading.run(async () => {
            const large = await read();
            await this.#prepare(large);
            return large;
          })
        : await read();
    const tried = trial === undefined ? {} : { trial: await this.#readTrial(trial) };
    return { ...fields, document, ...this.#readHistory(history), ...tried } as TopicRecord;
  }

  async #packTrial({ document, ...fields }: RecordedTrial): Promise<TrialHead> {
    const text = Buffer.from(encodeDocument(document));
    if (text.length > this.#maxDocumentBytes)
      throw tooLarge(`its newer document has ${text.length} bytes`, this.#maxDocumentBytes);
    return { ...fields, bytes: text.length, packed: (await compress(text)).toString("base64") };
  }

  async #readTrial({ packed, bytes, ...fields }: TrialHead): Promise<RecordedTrial> {
    if (bytes > this.#maxDocumentBytes)
      throw tooLarge(`its newer document has ${bytes} bytes`, this.#maxDocumentBytes);
    return { ...fields, document: await this.#readDocument(Buffer.from(packed, "base64"), bytes) };
  }

  /** The history; left out if it is malformed or has no room, because a record is usable without. */
  #readHistory(encoded: unknown): { readonly history?: readonly PastVersion[] } {
    const history = historyFromJson(encoded);
    return history !== undefined && this.#room.has(historyHeapBytes(history)) ? { history } : {};
  }

  async #readDocument(packed: Buffer, bytes: number): Promise<FlagDocument> {
    const text = await unpack(packed, bytes);
    const neededBytes = weigh(text);
    if (!this.#room.has(neededBytes)) throw noRoom(bytes, neededBytes, this.#room.freeBytes);
    try {
      return (await runInSlices(normalising(JSON.parse(text.toString()) as JsonValue))).document;
    } catch (cause) {
      throw malformed("its document is not one of flags", cause);
    }
  }
}

async function compress(text: Buffer): Promise<Buffer> {
  return text.length < minThreadBytes ? gzipSync(text, { level }) : compressElsewhere(text, { level });
}

async function decompress(packed: Buffer, maxOutputLength: number): Promise<Buffer> {
  const limits = { maxOutputLength, finishFlush: constants.Z_FINISH };
  return maxOutputLength < minThreadBytes ? gunzipSync(packed, limits) : decompressElsewhere(packed, limits);
}

/** Undefined if there is no history, or no room for it. */
function headWith(needed: object, history: readonly PastVersion[] | undefined): string | undefined {
  if (history === undefined) return undefined;
  const head = JSON.stringify({ ...needed, history: historyToJson(history) });
  return Buffer.byteLength(head) < maxHeadBytes ? head : undefined;
}

/** Decompresses up to the length that the head states: a few kilobytes could become gigabytes. */
async function unpack(packed: Buffer, bytes: number): Promise<Buffer> {
  const text = await decompress(packed, Math.max(1, bytes)).catch((cause: unknown) => {
    throw malformed("its document can't be decompressed to what its head says", cause);
  });
  if (text.length !== bytes) throw malformed("its document has not the length that its head says");
  return text;
}

/** Heap that the document takes, in bytes. */
function weigh(text: Buffer): number {
  try {
    return documentHeapBytes(text);
  } catch (cause) {
    throw malformed("its document is not one of flags", cause);
  }
}

function readHead(bytes: Buffer): Head {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (cause) {
    throw malformed("its head is no JSON", cause);
  }
  if (typeof value !== "object" || value === null) throw malformed("its head is no object");
  const head = value as Partial<Record<keyof Head | "format", unknown>>;
  if (head.format !== format) throw malformed("its format is not one that this version reads");
  const isHead = isPosition(head) && fieldNames.every((name) => checks[name](head[name]));
  if (!isHead || (head.kind !== "document" && head.bytes !== undefined))
    throw malformed("a field of its head is not as it must be");
  const fields = fieldNames.filter((name) => name in head).map((name) => [name, head[name]]);
  return Object.fromEntries(fields) as Head;
}

/** What each field of a head must be; all others are left out. The epoch and the resourceVersion are a position. */
const checks: Readonly<Record<keyof Head, (value: unknown) => boolean>> = {
  topic: isText,
  kind: (kind) => ["document", "deleted", "missing"].includes(kind as string),
  epoch: () => true,
  resourceVersion: () => true,
  uid: optional(isText),
  generation: optional((generation) => Number.isSafeInteger(generation)),
  readers: optional((readers) => Array.isArray(readers) && readers.every(isText)),
  provider: optional((provider) => isJsonObject(provider as JsonValue)),
  bytes: optional(isCount),
  history: () => true,
  trial: optional(isTrial),
};
const fieldNames = Object.keys(checks) as (keyof Head)[];

function isTrial(value: unknown): boolean {
  const { digest, reach, generation, bytes, packed } = (value ?? {}) as Partial<
    Record<keyof TrialHead, unknown>
  >;
  return [digest, packed].every(isText) && [reach, bytes].every(isCount) && optional(isCount)(generation);
}

function optional(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || check(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function tooLarge(what: string, most: number): BackplaneError {
  return new BackplaneError("RECORD_TOO_LARGE", `the record is too large: ${what}; ${most} are the most`);
}

function noRoom(bytes: number, neededBytes: number, freeBytes: number): BackplaneError {
  const [size, needed, free] = [bytes, neededBytes, freeBytes].map((one) => (one / 1_000_000).toFixed(1));
  return new BackplaneError(
    "RECORD_NO_ROOM",
    `the record can't be read for now: the ${size} MB of its document need ${needed} MB of heap, of which ${free} are free: raise the container's memory limit, or --max-old-space-size of node`,
    { neededBytes },
  );
}

function malformed(why: string, cause?: unknown): BackplaneError {
  return new BackplaneError("RECORD_MALFORMED", `the record can't be read: ${why}`, { cause });
}
