import { createHash, hash } from "node:crypto";
import { canonicalJson, compareUtf8, type FlagDocument, type JsonObject } from "@bunting/protocol";
import { emptySyncContext, grpcPrefixBytes, type SnapshotBytes, type EncodedFlag } from "./snapshot.js";

/**
 * Turns a document into the bytes that all its subscribers share: the only place that encodes. What costs in a fan-out is a copy
 * of the payload for each subscriber, so there is none: the text is written once, into the buffer that goes on the wire.
 *
 * The text is that of `encodeDocument`: equal documents give equal bytes and equal digests.
 *
 * @param previous the version before; flags that did not change are taken from it and not hashed again.
 */
export function encodeSnapshot(document: FlagDocument, previous?: SnapshotBytes): SnapshotBytes {
  const flags = encodeFlags(document.flags, previous?.flags);
  const metadata = document.metadata && canonicalJson(document.metadata);
  const evaluators = document.$evaluators && canonicalJson(document.$evaluators);
  return {
    ...frameText(joinDocument(flags, metadata, evaluators)),
    digest: digestDocument(flags, metadata, evaluators),
    flags,
  };
}

function encodeFlags(
  flags: JsonObject,
  previous: ReadonlyMap<string, EncodedFlag> | undefined,
): Map<string, EncodedFlag> {
  const encoded = new Map<string, EncodedFlag>();
  for (const key of Object.keys(flags).sort(compareUtf8)) {
    const text = canonicalJson(flags[key] ?? null);
    const before = previous?.get(key);
    encoded.set(key, before?.text === text ? before : { text, hash: hash("sha256", text) });
  }
  return encoded;
}

function joinDocument(
  flags: ReadonlyMap<string, EncodedFlag>,
  metadata: string | undefined,
  evaluators: string | undefined,
): string {
  const members: string[] = [];
  for (const [key, { text }] of flags) members.push(`${JSON.stringify(key)}:${text}`);
  const metadataMember = metadata === undefined ? "" : `,"metadata":${metadata}`;
  const evaluatorsMember = evaluators === undefined ? "" : `,"$evaluators":${evaluators}`;
  return `{"flags":{${members.join(",")}}${metadataMember}${evaluatorsMember}}`;
}

/**
 * SHA-256 over each flag's key (its length in bytes as 4 bytes, big end first, then the bytes) and hash, in UTF-8 order of the keys,
 * then the hashes of metadata and $evaluators, where what is absent counts as no bytes. Both ends of bunting.sync.v1 compute it.
 */
function digestDocument(flags: ReadonlyMap<string, EncodedFlag>, metadata = "", evaluators = ""): string {
  const digest = createHash("sha256");
  const length = Buffer.allocUnsafe(4);
  for (const [key, flag] of flags) {
    length.writeUInt32BE(Buffer.byteLength(key));
    digest.update(length).update(key).update(flag.hash, "hex");
  }
  return digest
    .update(hash("sha256", metadata), "hex")
    .update(hash("sha256", evaluators), "hex")
    .digest("hex");
}

function frameText(text: string): Pick<SnapshotBytes, "syncFrame" | "textStart" | "textLength"> {
  const textLength = Buffer.byteLength(text);
  const lengthBytes = varintBytes(textLength);
  const messageLength = 1 + lengthBytes + textLength + emptySyncContext.length;
  const textStart = grpcPrefixBytes + 1 + lengthBytes;
  // Not from Node's pool: the buffer lives as long as the snapshot and would keep a whole slab with it.
  const syncFrame = Buffer.allocUnsafeSlow(grpcPrefixBytes + messageLength);
  syncFrame.writeUInt8(0, 0);
  syncFrame.writeUInt32BE(messageLength, 1);
  syncFrame.writeUInt8(flagConfigurationTag, grpcPrefixBytes);
  writeVarint(syncFrame, textLength, grpcPrefixBytes + 1);
  syncFrame.write(text, textStart);
  syncFrame.set(emptySyncContext, textStart + textLength);
  return { syncFrame, textStart, textLength };
}

/** `flag_configuration`, field 1 of every response that carries a document, length-delimited. */
const flagConfigurationTag = 0x0a;

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}

function writeVarint(buffer: Buffer, value: number, offset: number): void {
  let rest = value;
  let at = offset;
  for (; rest > 0x7f; rest >>>= 7) at = buffer.writeUInt8((rest & 0x7f) | 0x80, at);
  buffer.writeUInt8(rest, at);
}
