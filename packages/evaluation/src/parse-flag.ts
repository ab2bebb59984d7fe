import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { FlagError } from "./flag-error.js";
import { emptyTargeting, type Flag, type Metadata, type MetadataValue } from "./flag.js";
import { inlineReferences } from "./inline-references.js";

/** What parsing a flag needs of the document that the flag is in. */
export interface FlagSetContext {
  /** The set's own metadata. */
  readonly metadata: Metadata;
  /** The document's `$evaluators`, by `evaluatorsOf`. */
  readonly evaluators: JsonObject;
  readonly source: string;
  readonly sourceIndex: number;
  /** Called for a flag with references: by about how many bytes of JSON it grew when they were replaced. */
  readonly onReferences?: (bytes: number) => void;
}

const empty: JsonObject = {};

/**
 * Parses the definition of a flag. Strict only where flagd refuses a document: a part has the wrong type, or the default variant is not
 * one of the variants. Otherwise lenient, as flagd is: unknown parts are ignored, and null counts as absent.
 *
 * @throws FlagError FLAG_INVALID if this flag can't be served
 */
export function parseFlag(key: string, definition: JsonValue, set: FlagSetContext): Flag {
  if (key === "") reject(key, "a flag needs a key that is not empty");
  const inlined = inlineReferences(
    definition,
    set.evaluators,
    (reason) => reject(key, reason),
    set.onReferences,
  );
  const parts = objectPart(key, "it", inlined);
  const variants = variantsOf(objectPart(key, '"variants"', parts["variants"]));
  const defaultVariant = textPart(key, '"defaultVariant"', parts["defaultVariant"]);
  if (defaultVariant !== "" && !variants.has(defaultVariant)) {
    const names = [...variants.keys()].map((name) => JSON.stringify(name)).join(", ");
    reject(
      key,
      `its default variant ${JSON.stringify(defaultVariant)} is not one of its variants (${names || "it has none"})`,
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

/** Not of Object.entries, which takes a hundred bytes for each member: a flag with some hundred thousand would fill the heap. */
function variantsOf(object: JsonObject): Map<string, JsonValue> {
  const variants = new Map<string, JsonValue>();
  for (const name of Object.keys(object)) variants.set(name, object[name] ?? null);
  return variants;
}

function targetingOf(parts: JsonObject): JsonValue | undefined {
  const targeting = parts["targeting"];
  return isJsonObject(targeting) && Object.keys(targeting).length === 0 ? emptyTargeting : targeting;
}

/** The flag's metadata over the set's; a null in the flag's removes what the set has. */
function mergeMetadata(ofSet: Metadata, ofFlag: JsonObject): Metadata {
  if (Object.keys(ofFlag).length === 0) return ofSet;
  return metadataOf(Object.keys(ofSet).length === 0 ? ofFlag : { ...ofSet, ...ofFlag });
}

/** The members that flags can carry: strings, numbers and booleans. Some providers stop at anything else. */
export function metadataOf(object: JsonObject): Metadata {
  // As it is if all may be carried, as nearly always: a copy of a hundred thousand members may be what a small heap has no room for.
  if (Object.keys(object).every((name) => isCarried(object[name]))) return object as Metadata;
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, MetadataValue] => isCarried(entry[1])),
  );
}

function isCarried(value: JsonValue | undefined): value is MetadataValue {
  return typeof value === "number" ? Number.isFinite(value) : ["string", "boolean"].includes(typeof value);
}

function objectPart(key: string, part: string, value: JsonValue | undefined): JsonObject {
  if (value === undefined || value === null) return empty;
  return isJsonObject(value) ? value : reject(key, `${part} must be an object, and is ${kindOf(value)}`);
}

function textPart(key: string, part: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : reject(key, `${part} must be a string, and is ${kindOf(value)}`);
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `the ${typeof value} ${JSON.stringify(value)}`;
}

function reject(key: string, reason: string): never {
  throw new FlagError("FLAG_INVALID", `flag ${JSON.stringify(key)}: ${reason}`);
}
