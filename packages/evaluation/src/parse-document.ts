import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { FlagError } from "./flag-error.js";
import type { Flag } from "./flag.js";
import { evaluatorsOf } from "./inline-references.js";
import { metadataOf, parseFlag, type FlagSetContext } from "./parse-flag.js";

/** A flag that is rejected alone; the other flags of its document are served. */
export interface InvalidFlag {
  readonly key: string;
  readonly reason: string;
}

export interface ParsedDocument {
  /** Of flags with the same flagSetId and key, the last one. */
  readonly flags: readonly Flag[];
  readonly rejectedFlags: readonly InvalidFlag[];
}

/** Where a document came from; its flags carry it, and selectors select by it. */
export type DocumentOrigin = Pick<FlagSetContext, "source" | "sourceIndex">;

/**
 * Parses all flags of a flagd document: `{"flags": …, "metadata": …, "$evaluators": …}`, where `flags` maps keys to flags or is a list of
 * flags that carry their key.
 *
 * @throws FlagError DOCUMENT_INVALID if the value is not a flag document
 */
export function parseDocument(
  document: JsonValue,
  origin: DocumentOrigin = { source: "", sourceIndex: 0 },
): ParsedDocument {
  if (!isJsonObject(document)) return refuse("a flag document must be an object");
  const set: FlagSetContext = {
    ...origin,
    metadata: metadataOf(objectPart(document, "metadata")),
    evaluators: evaluatorsOf(objectPart(document, "$evaluators")),
  };
  const flags = new Map<string, Flag>();
  const rejectedFlags: InvalidFlag[] = [];
  for (const [key, definition] of definitionsIn(document)) {
    try {
      const flag = parseFlag(key, definition, set);
      flags.set(JSON.stringify([flag.flagSetId, key]), flag);
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      rejectedFlags.push({ key, reason: error.message });
    }
  }
  return { flags: [...flags.values()], rejectedFlags };
}

function definitionsIn({ flags }: JsonObject): readonly (readonly [string, JsonValue])[] {
  // As in flagd: null means that there are none.
  if (flags === null) return [];
  if (isJsonObject(flags)) return Object.entries(flags);
  if (!Array.isArray(flags)) return refuse('a flag document needs "flags": an object or a list');
  return (flags as readonly JsonValue[]).map((flag) => {
    const key = isJsonObject(flag) ? flag["key"] : undefined;
    return typeof key === "string" ? [key, flag] : refuse('a flag in a list needs a "key"');
  });
}

function objectPart(document: JsonObject, name: string): JsonObject {
  const part = document[name] ?? {};
  return isJsonObject(part) ? part : refuse(`"${name}" of a flag document must be an object`);
}

function refuse(message: string): never {
  throw new FlagError("DOCUMENT_INVALID", message);
}
