import {
  historyFromJson,
  historyToJson,
  isJsonObject,
  normaliseDocument,
  type FlagDocument,
  type JsonValue,
  type PastVersion,
} from "@bunting/protocol";

/** A document as it is in a copy, and the versions before it, as far as they are known. */
export interface CopiedDocument {
  readonly document: FlagDocument;
  readonly history: readonly PastVersion[] | undefined;
}

/** The history is one more member of the document: what is no field of a flag document is ignored by earlier releases. */
const historyMember = "history";

export function encodeCopy(document: FlagDocument, history: readonly PastVersion[] | undefined): Buffer {
  const member = history === undefined ? {} : { [historyMember]: historyToJson(history) };
  return Buffer.from(JSON.stringify({ ...document, ...member }));
}

/**
 * A history that can't be read is left out.
 *
 * @throws Error if the bytes are no document
 */
export function decodeCopy(bytes: Buffer): CopiedDocument {
  const value = JSON.parse(bytes.toString()) as JsonValue;
  const { document } = normaliseDocument(value);
  return { document, history: isJsonObject(value) ? historyFromJson(value[historyMember]) : undefined };
}
