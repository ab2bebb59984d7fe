import {
  historyFromJson,
  historyToJson,
  isJsonObject,
  normaliseDocument,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
  type PastVersion,
} from "@bunting/protocol";

/** A document as it is in a copy, and the versions before it, as far as they are known. */
export interface CopiedDocument {
  readonly document: FlagDocument;
  readonly history: readonly PastVersion[] | undefined;
  /** `spec.remoteFlagProvider` of the FeatureFlag, if it has one. */
  readonly provider?: JsonObject | undefined;
}

/** The history, and the provider, are more members of the document: what is no field of a flag document is ignored by earlier releases. */
const historyMember = "history";
const providerMember = "remoteFlagProvider";

export function encodeCopy({ document, history, provider }: CopiedDocument): Buffer {
  const members = {
    ...(history === undefined ? {} : { [historyMember]: historyToJson(history) }),
    ...(provider === undefined ? {} : { [providerMember]: provider }),
  };
  return Buffer.from(JSON.stringify({ ...document, ...members }));
}

/**
 * A history that can't be read is left out.
 *
 * @throws Error if the bytes are no document
 */
export function decodeCopy(bytes: Buffer): CopiedDocument {
  const value = JSON.parse(bytes.toString()) as JsonValue;
  const { document } = normaliseDocument(value);
  if (!isJsonObject(value)) return { document, history: undefined };
  const { [historyMember]: history, [providerMember]: provider } = value;
  return {
    document,
    history: historyFromJson(history),
    ...(isJsonObject(provider) ? { provider } : {}),
  };
}
