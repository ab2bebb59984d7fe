import { evaluatorsOf, FlagError, metadataOf, parseFlag, type FlagSetContext } from "@bunting/evaluation";
import {
  compareUtf8,
  isJsonObject,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { jsonChanges, type JsonChange } from "./json-changes.js";

/** What became of a flag. */
export interface FlagDifference {
  readonly key: string;
  readonly kind: "added" | "removed" | "changed";
  /** Of a flag that changed. */
  readonly changes: readonly JsonChange[];
  /** The flag as it was, and as it is, by what it means. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
}

/**
 * The flags that mean something else in one document than in the other, by key. The order of keys, how a state is written that counts as
 * enabled, and whether a rule stands in the flag or in `$evaluators` makes no difference.
 */
export function compareDocuments(before: FlagDocument, after: FlagDocument): readonly FlagDifference[] {
  const old = meanings(before);
  const now = meanings(after);
  const keys = [...new Set([...old.keys(), ...now.keys()])].sort(compareUtf8);
  return keys.flatMap((key): readonly FlagDifference[] => {
    const was = old.get(key);
    const is = now.get(key);
    if (was === undefined) return is === undefined ? [] : [{ key, kind: "added", changes: [], after: is }];
    if (is === undefined) return [{ key, kind: "removed", changes: [], before: was }];
    const changes = jsonChanges(was, is);
    return changes.length === 0 ? [] : [{ key, kind: "changed", changes, before: was, after: is }];
  });
}

function meanings(document: FlagDocument): ReadonlyMap<string, JsonObject> {
  const set: FlagSetContext = {
    metadata: metadataOf(document.metadata ?? {}),
    evaluators: evaluatorsOf(document.$evaluators ?? {}),
    source: "",
    sourceIndex: 0,
  };
  return new Map(
    Object.entries(document.flags).map(([key, definition]) => [key, meaningOf(key, definition, set)]),
  );
}

/** A flag as agents see it, in the order in which people read it. */
function meaningOf(key: string, definition: JsonValue, set: FlagSetContext): JsonObject {
  try {
    const { state, defaultVariant, variants, targeting, metadata } = parseFlag(key, definition, set);
    return {
      state: state === "DISABLED" ? state : "ENABLED",
      ...(defaultVariant === undefined ? {} : { defaultVariant }),
      variants: Object.fromEntries(variants),
      ...(targeting === undefined || isEmpty(targeting) ? {} : { targeting }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    };
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    return { refusedByAgents: error.message, ...(isJsonObject(definition) ? definition : {}) };
  }
}

function isEmpty(targeting: JsonValue): boolean {
  return isJsonObject(targeting) && Object.keys(targeting).length === 0;
}
