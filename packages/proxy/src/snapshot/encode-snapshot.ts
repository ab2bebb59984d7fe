import { hash } from "node:crypto";
import {
  atOnce,
  canonicalJson,
  compareUtf8,
  DocumentDigest,
  flagsPerStep,
  type FlagDocument,
  type JsonObject,
  type PastVersion,
  type DocumentWork,
} from "@bunting/protocol";
import { extendHistory } from "./changed-keys.js";
import { framePrefixBytes } from "@bunting/rpc";
import { runInSlices } from "@bunting/runtime";
import { mergeHistories } from "./merge-histories.js";
import { emptySyncContext } from "./snapshot.js";
import type { EncodedContent, EncodedFlag, SnapshotBytes } from "./snapshot-bytes.js";
import { varintBytes, writeVarint } from "./varint.js";

/**
 * Encodes a document into the bytes that all its subscribers share; nothing else encodes. A copy of the payload for each
 * subscriber would be the expensive part of a fan-out, so the text is written once, into the buffer that goes on the wire.
 *
 * The text is that of `encodeDocument`: equal documents give equal bytes and equal digests.
 *
 * @param previous the version before: its unchanged flags are not hashed again, and it becomes part of the history
 * @param reported the history of the document, as far as its source knows it
 */
export function encodeSnapshot(
  document: FlagDocument,
  previous?: SnapshotBytes,
  reported: readonly PastVersion[] = [],
): SnapshotBytes {
  const encoded = prepared.get(document) ?? atOnce(encoding(document, previous));
  prepared.delete(document);
  const own = previous === undefined ? [] : extendHistory(previous, encoded);
  return { ...encoded, history: mergeHistories(own, reported) };
}

/** The part of `encodeSnapshot`'s result that depends on the document alone. */
type EncodedDocument = Omit<SnapshotBytes, "history">;

/** Results of `prepareSnapshot`, until the document is published. */
const prepared = new WeakMap<FlagDocument, EncodedDocument>();

/**
 * Does most of the work of `encodeSnapshot` beforehand, in slices of the event loop. For large documents only, because it
 * also hashes the flags that have not changed since the version before.
 */
export async function prepareSnapshot(document: FlagDocument): Promise<void> {
  prepared.set(document, await runInSlices(encoding(document, undefined)));
}

function* encoding(
  document: FlagDocument,
  previous: SnapshotBytes | undefined,
): DocumentWork<EncodedDocument> {
  const flags = yield* encodeFlags(document.flags, previous?.flags);
  const metadata = document.metadata && canonicalJson(document.metadata);
  const evaluators = document.$evaluators && canonicalJson(document.$evaluators);
  const content = { flags, metadata, evaluators };
  const text = yield* joinDocument(content);
  yield;
  const frame = frameText(text);
  const digest = yield* digestDocument(content);
  return { ...frame, digest, ...content };
}

function* encodeFlags(
  flags: JsonObject,
  previous: ReadonlyMap<string, EncodedFlag> | undefined,
): DocumentWork<Map<string, EncodedFlag>> {
  const encoded = new Map<string, EncodedFlag>();
  const keys = Object.keys(flags).sort(compareUtf8);
  yield;
  for (const [index, key] of keys.entries()) {
    const text = canonicalJson(flags[key] ?? null);
    const before = previous?.get(key);
    encoded.set(key, before?.text === text ? before : { text, hash: hash("sha256", text) });
    if (index % flagsPerStep === 0) yield;
  }
  return encoded;
}

function* joinDocument({ flags, metadata, evaluators }: EncodedContent): DocumentWork<string> {
  const members: string[] = [];
  for (const [key, { text }] of flags) {
    members.push(`${JSON.stringify(key)}:${text}`);
    if (members.length % flagsPerStep === 0) yield;
  }
  const metadataMember = metadata === undefined ? "" : `,"metadata":${metadata}`;
  const evaluatorsMember = evaluators === undefined ? "" : `,"$evaluators":${evaluators}`;
  return `{"flags":{${members.join(",")}}${metadataMember}${evaluatorsMember}}`;
}

function* digestDocument({ flags, metadata, evaluators }: EncodedContent): DocumentWork<string> {
  const digest = new DocumentDigest();
  let added = 0;
  for (const [key, flag] of flags) {
    digest.add(key, flag.hash);
    if (++added % flagsPerStep === 0) yield;
  }
  return digest.finish(metadata, evaluators).toString("hex");
}

function frameText(text: string): Pick<SnapshotBytes, "syncFrame" | "textStart" | "textLength"> {
  const textLength = Buffer.byteLength(text);
  const lengthBytes = varintBytes(textLength);
  const messageLength = 1 + lengthBytes + textLength + emptySyncContext.length;
  const textStart = framePrefixBytes + 1 + lengthBytes;
  // Not from node's pool: the buffer lives as long as the snapshot, and would keep a whole slab alive.
  const syncFrame = Buffer.allocUnsafeSlow(framePrefixBytes + messageLength);
  syncFrame.writeUInt8(0, 0);
  syncFrame.writeUInt32BE(messageLength, 1);
  syncFrame.writeUInt8(flagConfigurationTag, framePrefixBytes);
  writeVarint(syncFrame, textLength, framePrefixBytes + 1);
  syncFrame.write(text, textStart);
  syncFrame.set(emptySyncContext, textStart + textLength);
  return { syncFrame, textStart, textLength };
}

/** `flag_configuration`, field 1 of every response that carries a document, length-delimited. */
const flagConfigurationTag = 0x0a;
