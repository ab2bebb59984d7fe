import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { unservable } from "./document-depth.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";
import { quoted } from "./quoted.js";
import { atOnce, flagsPerStep, type DocumentWork } from "./work.js";

/**
 * A flag document in the one form that every OpenFeature provider reads: map-form `flags`, only the fields that flagd defines, primitive
 * metadata. Providers are less tolerant than flagd: Python rejects an update with an unknown field in a flag, .NET stops syncing
 * permanently on non-primitive metadata, JavaScript reads array-form flags as flags called "0", "1" …
 */
export interface FlagDocument {
  readonly flags: JsonObject;
  readonly metadata?: JsonObject;
  readonly $evaluators?: JsonObject;
}

/** Something in a document that is left out, or that its author should know of; the rest of the document is served. */
export interface DocumentWarning {
  /** Where, as keys from the root of the document. */
  readonly path: readonly string[];
  readonly message: string;
}

export interface NormalisedDocument {
  readonly document: FlagDocument;
  readonly warnings: readonly DocumentWarning[];
}

/** The document without any flags: what a FeatureFlag without `flagSpec` means. */
export const emptyFlagDocument: FlagDocument = { flags: {} };

/** In the order in which they are written. */
const flagFields = ["defaultVariant", "metadata", "state", "targeting", "variants"] as const;

/**
 * Checks a flagd document or a FeatureFlag's `flagSpec` and converts it to the form that all providers read.
 *
 * @throws ProtocolError DOCUMENT_INVALID with the path of the first part that can't be converted.
 */
export function normaliseDocument(value: JsonValue | undefined): NormalisedDocument {
  return atOnce(normalising(value));
}

/** `normaliseDocument` as work that can be done in turns: a document may have a million flags. */
export function* normalising(value: JsonValue | undefined): DocumentWork<NormalisedDocument> {
  const warnings: DocumentWarning[] = [];
  if (!isJsonObject(value))
    throw invalid([], `a flag document is an object with "flags", but this is ${kindOf(value)}`);
  const flags = yield* normaliseFlags(value["flags"], warnings);
  const metadata = normaliseMetadata(value["metadata"], ["metadata"], warnings);
  const evaluators = normaliseEvaluators(value["$evaluators"]);
  for (const key of Object.keys(value)) {
    if (!["flags", "metadata", "$evaluators", "$schema"].includes(key)) {
      warnings.push({
        path: [key],
        message: `${quoted(key)} is not a field of a flag document and is not served`,
      });
    }
  }
  const document: FlagDocument = {
    flags,
    ...(metadata === undefined ? {} : { metadata }),
    ...(evaluators === undefined ? {} : { $evaluators: evaluators }),
  };
  return { document, warnings };
}

/** The document as canonical JSON, keys `flags`, `metadata`, `$evaluators` in this order: equal documents give equal text. */
export function encodeDocument(document: FlagDocument): string {
  const parts = [`"flags":${canonicalJson(document.flags)}`];
  if (document.metadata !== undefined) parts.push(`"metadata":${canonicalJson(document.metadata)}`);
  if (document.$evaluators !== undefined) parts.push(`"$evaluators":${canonicalJson(document.$evaluators)}`);
  return `{${parts.join(",")}}`;
}

function* normaliseFlags(
  value: JsonValue | undefined,
  warnings: DocumentWarning[],
): DocumentWork<JsonObject> {
  if (Array.isArray(value)) return normaliseFlagList(value as readonly JsonValue[], warnings);
  // As in flagd: `flags:` with nothing below it in YAML means that there are none.
  if (value === null) return {};
  if (!isJsonObject(value)) throw invalid(["flags"], `"flags" must be an object, but it is ${kindOf(value)}`);
  const keys = Object.keys(value);
  let flags: Record<string, JsonValue> = {};
  for (const [index, key] of keys.entries()) {
    define(flags, key, normaliseFlag(value[key], ["flags", key], warnings));
    if (index % flagsPerStep === 0) yield;
  }
  if (isSorted(keys)) return flags;
  const unsorted = flags;
  flags = {};
  yield;
  for (const [index, key] of keys.sort(compareUtf8).entries()) {
    define(flags, key, unsorted[key] ?? null);
    if (index % flagsPerStep === 0) yield;
  }
  return flags;
}

function isSorted(keys: readonly string[]): boolean {
  return keys.every((key, index) => index === 0 || compareUtf8(keys[index - 1] ?? "", key) < 0);
}

/** flagd also accepts a list of flags with a "key" each; of flags with the same key, the map holds the last. */
function normaliseFlagList(list: readonly JsonValue[], warnings: DocumentWarning[]): JsonObject {
  const flags = new Map<string, JsonObject>();
  list.forEach((flag, index) => {
    const path = ["flags", String(index)];
    const key = isJsonObject(flag) ? flag["key"] : undefined;
    if (typeof key !== "string" || key === "") throw invalid(path, `a flag in a list needs a "key"`);
    if (flags.has(key))
      warnings.push({ path, message: `the flag ${quoted(key)} occurs twice; the later one is served` });
    flags.set(key, normaliseFlag(flag, path, warnings));
  });
  return fromEntries([...flags]);
}

function normaliseFlag(
  flag: JsonValue | undefined,
  path: readonly string[],
  warnings: DocumentWarning[],
): JsonObject {
  if (!isJsonObject(flag)) throw invalid(path, `a flag is an object, but ${last(path)} is ${kindOf(flag)}`);
  requireServable(flag, path);
  const { state, variants, defaultVariant, targeting } = flag;
  if (state !== undefined && typeof state !== "string") {
    throw invalid(
      [...path, "state"],
      `"state" of ${last(path)} must be ENABLED or DISABLED, but it is ${kindOf(state)}`,
    );
  }
  if (variants !== undefined && !isJsonObject(variants)) {
    throw invalid(
      [...path, "variants"],
      `"variants" of ${last(path)} must be an object, but it is ${kindOf(variants)}`,
    );
  }
  if (defaultVariant !== undefined && defaultVariant !== null && typeof defaultVariant !== "string") {
    throw invalid(
      [...path, "defaultVariant"],
      `"defaultVariant" of ${last(path)} must be the name of a variant, but it is ${kindOf(defaultVariant)}`,
    );
  }
  if (targeting !== undefined && targeting !== null && !isJsonObject(targeting)) {
    throw invalid(
      [...path, "targeting"],
      `"targeting" of ${last(path)} must be an object, but it is ${kindOf(targeting)}`,
    );
  }
  if (
    typeof defaultVariant === "string" &&
    defaultVariant !== "" &&
    !Object.hasOwn(variants ?? {}, defaultVariant)
  ) {
    warnings.push({
      path: [...path, "defaultVariant"],
      message: `"defaultVariant" of ${last(path)} is ${quoted(defaultVariant)}, which is not one of its variants: agents reject this flag, stock flagd rejects the whole document`,
    });
  }
  const metadata = normaliseMetadata(flag["metadata"], [...path, "metadata"], warnings);
  const normalised: Record<string, JsonValue> = {};
  for (const field of flagFields) {
    const content = field === "metadata" ? metadata : flag[field];
    // Absent, null and "" all mean "use the default in the code"; absent is the form that every provider reads.
    if (content !== undefined && content !== null) normalised[field] = content;
  }
  return normalised;
}

function normaliseMetadata(
  value: JsonValue | undefined,
  path: readonly string[],
  warnings: DocumentWarning[],
): JsonObject | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw invalid(path, `"metadata" must be an object, but it is ${kindOf(value)}`);
  const kept = Object.keys(value).filter((key) => {
    const isPrimitive =
      ["string", "number", "boolean"].includes(typeof value[key]) &&
      unservable(value[key] ?? null) === undefined;
    if (!isPrimitive) {
      const message = `metadata ${quoted(key)} is ${kindOf(value[key])}; only strings, numbers and booleans are served`;
      warnings.push({ path: [...path, key], message });
    }
    return isPrimitive;
  });
  return fromEntries(kept.map((key) => [key, value[key] ?? null]));
}

function normaliseEvaluators(value: JsonValue | undefined): JsonObject | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value))
    throw invalid(["$evaluators"], `"$evaluators" must be an object, but it is ${kindOf(value)}`);
  for (const [name, evaluator] of Object.entries(value)) {
    requireServable(evaluator, ["$evaluators", name]);
  }
  return value;
}

/** Object.fromEntries defines own properties, so that a flag called `__proto__` stays a flag. */
function fromEntries(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.sort(([a], [b]) => compareUtf8(a, b)));
}

/** As an own property, so that a flag called `__proto__` stays a flag. */
function define(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
  else object[key] = value;
}

function invalid(path: readonly string[], message: string): ProtocolError {
  return new ProtocolError("DOCUMENT_INVALID", message, path);
}

function requireServable(value: JsonValue, path: readonly string[]): void {
  const problem = unservable(value);
  if (problem !== undefined) throw invalid(path, `${last(path)} ${problem}`);
}

function last(path: readonly string[]): string {
  return quoted(path.at(-1) ?? "");
}

function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (unservable(value) !== undefined && typeof value === "number") return "a number beyond 1.8e308";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
