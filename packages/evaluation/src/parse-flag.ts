import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { FlagError } from "./flag-error.js";
import type { Flag, Metadata, MetadataValue } from "./flag.js";
import { inlineReferences } from "./inline-references.js";

/** What a flag needs to know of the document it stands in. */
export interface FlagSetContext {
  /** The set's own metadata. */
  readonly metadata: Metadata;
  /** The document's `$evaluators`. */
  readonly evaluators: JsonObject;
  readonly source: string;
  readonly sourceIndex: number;
}

const empty: JsonObject = {};

/**
 * Makes a flag of its definition. Strict only where flagd refuses a document: a part has another type than it must have, or the default
 * variant is none of the variants. All else is lenient, as flagd is: unknown parts are ignored, and null counts as absent.
 *
 * @throws FlagError FLAG_INVALID if this flag can't be served.
 */
export function parseFlag(key: string, definition: JsonValue, set: FlagSetContext): Flag {
  const inlined = inlineReferences(definition, set.evaluators, (name) =>
    refuse(key, `the evaluator ${JSON.stringify(name)} it refers to is empty`),
  );
  const parts = objectPart(key, "it", inlined);
  const variants = new Map(Object.entries(objectPart(key, '"variants"', parts["variants"])));
  const defaultVariant = textPart(key, '"defaultVariant"', parts["defaultVariant"]);
  if (defaultVariant !== "" && !variants.has(defaultVariant)) {
    const names = [...variants.keys()].map((name) => JSON.stringify(name)).join(", ");
    refuse(
      key,
      `its default variant ${JSON.stringify(defaultVariant)} is none of its variants (${names || "it has none"})`,
    );
  }
  const metadata = mergeMetadata(set.metadata, objectPart(key, '"metadata"', parts["metadata"]));
  const flagSetId = Object.hasOwn(metadata, "flagSetId") ? metadata["flagSetId"] : undefined;
  return {
    key,
    state: textPart(key, '"state"', parts["state"]),
    variants,
    defaultVariant: defaultVariant === "" ? undefined : defaultVariant,
    targeting: targetingOf(parts),
    metadata,
    flagSetId: typeof flagSetId === "string" ? flagSetId : "",
    source: set.source,
    sourceIndex: set.sourceIndex,
  };
}

function targetingOf(parts: JsonObject): JsonValue | undefined {
  const targeting = parts["targeting"];
  return isJsonObject(targeting) && Object.keys(targeting).length === 0 ? undefined : targeting;
}

/** The flag's metadata over the set's; a null of the flag's takes away what the set has. */
function mergeMetadata(ofSet: Metadata, ofFlag: JsonObject): Metadata {
  if (Object.keys(ofFlag).length === 0) return ofSet;
  const merged = Object.entries({ ...ofSet, ...ofFlag });
  return Object.fromEntries(
    merged.filter((entry): entry is [string, MetadataValue] => isMetadataValue(entry[1])),
  );
}

/** Providers stop at anything else. */
function isMetadataValue(value: JsonValue): value is MetadataValue {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function objectPart(key: string, part: string, value: JsonValue | undefined): JsonObject {
  if (value === undefined || value === null) return empty;
  return isJsonObject(value) ? value : refuse(key, `${part} must be an object, and is ${kindOf(value)}`);
}

function textPart(key: string, part: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : refuse(key, `${part} must be a string, and is ${kindOf(value)}`);
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `the ${typeof value} ${JSON.stringify(value)}`;
}

function refuse(key: string, reason: string): never {
  throw new FlagError("FLAG_INVALID", `flag ${JSON.stringify(key)}: ${reason}`);
}
