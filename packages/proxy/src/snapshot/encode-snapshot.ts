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
import { frameToFill } from "@bunting/rpc";
import { runInSlices } from "@bunting/runtime";
import { mergeHistories } from "./merge-histories.js";
import { emptySyncContext } from "./snapshot.js";
import type { EncodedContent, EncodedFlag, SnapshotBytes } from "./snapshot-bytes.js";

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
  const frame = yield* frameDocument(content);
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

/**
 * Measures the document, then writes it into a frame of exactly its size: a text of the whole, which takes as much again, is never made. Not in
 * node's pool: the frame lives as long as the snapshot, and would keep a whole slab alive.
 */
function* frameDocument(
  content: EncodedContent,
): DocumentWork<Pick<SnapshotBytes, "syncFrame" | "textStart" | "textLength">> {
  let textLength = 0;
  let parts = 0;
  for (const part of partsOf(content)) {
    textLength += Buffer.byteLength(part);
    if (++parts % partsPerStep === 0) yield;
  }
  yield;
  const { frame, start } = frameToFill(flagConfigurationField, textLength, emptySyncContext);
  let at = start;
  for (const part of partsOf(content)) {
    at += frame.write(part, at);
    if (++parts % partsPerStep === 0) yield;
  }
  return { syncFrame: frame, textStart: start, textLength };
}

/** The document's text, piece by piece. */
function* partsOf({ flags, metadata, evaluators }: EncodedContent): Generator<string, void> {
  yield '{"flags":{';
  let separator = "";
  for (const [key, { text }] of flags) {
    yield `${separator}${JSON.stringify(key)}:`;
    yield text;
    separator = ",";
  }
  yield "}";
  if (metadata !== undefined) yield `,"metadata":${metadata}`;
  if (evaluators !== undefined) yield `,"$evaluators":${evaluators}`;
  yield "}";
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

/** A flag has two parts. */
const partsPerStep = 2 * flagsPerStep;
/** `flag_configuration`, the first field of every response that carries a document. */
const flagConfigurationField = 1;
