import type { FlagDocument, RefusedFlag, WrittenDocument } from "./flag-document.js";
import type { JsonObject, JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";
import { sortedObject } from "./sorted-object.js";

/** A document with the flags that were refused as they are written: agents refuse each of them alone, and know what they served before. */
export function withRefusedFlags({
  document,
  refused,
}: Pick<WrittenDocument, "document" | "refused">): FlagDocument {
  return withFlags(
    document,
    refused.map(({ key, written }) => [key, written]),
  );
}

/**
 * A document with the flags that were refused as they are in an earlier version of it: one mistake must not take a flag away that was served.
 *
 * @param earlier the flags of that version; undefined if there is none
 */
export function withEarlierFlags(
  document: FlagDocument,
  refused: readonly RefusedFlag[],
  earlier: JsonObject | undefined,
): FlagDocument {
  const kept = refused.flatMap(({ key }): [string, JsonValue][] => {
    const flag = earlier !== undefined && Object.hasOwn(earlier, key) ? earlier[key] : undefined;
    return flag === undefined ? [] : [[key, flag]];
  });
  return withFlags(document, kept);
}

/** Why a document of which no flag is left is refused as a whole: one that holds mistakes only is no order to remove all flags. */
export function emptiedBy({ document, refused }: WrittenDocument): ProtocolError | undefined {
  const [problem] = refused[0]?.problems ?? [];
  if (problem === undefined || Object.keys(document.flags).length > 0) return undefined;
  return new ProtocolError("DOCUMENT_INVALID", problem.message, problem.path);
}

function withFlags(document: FlagDocument, more: readonly [string, JsonValue][]): FlagDocument {
  if (more.length === 0) return document;
  return { ...document, flags: sortedObject([...Object.entries(document.flags), ...more]) };
}
