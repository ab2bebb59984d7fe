import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { unservable } from "./document-depth.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";
import { quoted } from "./quoted.js";
import { sortedObject } from "./sorted-object.js";
import { atOnce, isStep, type DocumentWork } from "./work.js";

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

/** A part of a document that is left out, or that its author should know of; the rest of the document is served. */
export interface DocumentWarning {
  /** Keys from the root of the document to the part. */
  readonly path: readonly string[];
  readonly message: string;
}

/** A flag that is refused alone: it is not in the document. */
export interface RefusedFlag {
  readonly key: string;
  /** The flag as its author wrote it, for agents, which refuse it themselves. If it can't be written again as JSON, a text that says why. */
  readonly written: JsonValue;
  /** What is wrong with it, each with its path in the document; never empty. */
  readonly problems: readonly DocumentWarning[];
}

export interface NormalisedDocument {
  readonly document: FlagDocument;
  readonly warnings: readonly DocumentWarning[];
}

/** A document as people write it, without the flags that can't be served. */
export interface WrittenDocument extends NormalisedDocument {
  readonly refused: readonly RefusedFlag[];
}

/** True for a field of a document or of a flag that is meant for people and editors: no provider reads it, so leaving it out needs no warning. */
export function isDocumentation(field: string): boolean {
  return /^(?:\$schema|[$_]?comments?|description|title|owners?)$|^(?:x-|_)/i.test(field);
}

/** The document without any flags: what a FeatureFlag without `flagSpec` means. */
export const emptyFlagDocument: FlagDocument = { flags: {} };

/** The fields of a flag that are served, in the order of canonical JSON. */
const flagFields = ["defaultVariant", "metadata", "state", "targeting", "variants"] as const;

/**
 * Checks a flagd document or a FeatureFlag's `flagSpec` and converts it to the form that all providers read.
 *
 * @throws ProtocolError DOCUMENT_INVALID with the path of the first part that can't be converted.
 */
export function normaliseDocument(value: JsonValue | undefined): NormalisedDocument {
  return atOnce(normalising(value));
}

/**
 * As `normaliseDocument`, for documents that people write: a flag that can't be converted is refused alone.
 *
 * @throws ProtocolError DOCUMENT_INVALID for what concerns the document as a whole.
 */
export function readDocument(value: JsonValue | undefined): WrittenDocument {
  const refused: RefusedFlag[] = [];
  return { ...atOnce(normalisingWritten(value, (flag) => refused.push(flag))), refused };
}

/**
 * `normaliseDocument` as work that can be done in turns: a document may have a million flags.
 *
 * @param onRefused called for each flag that can't be converted; absent: it is an error of the whole document
 */
export function normalising(
  value: JsonValue | undefined,
  onRefused: (flag: RefusedFlag) => void = refuseDocument,
): DocumentWork<NormalisedDocument> {
  return normalisingAs(value, { warnings: [], onRefused, fillsIn: false });
}

/**
 * As `normalising`, for documents of people and of other servers: flags without a default variant get an empty one, as flagd gives them, because the
 * provider for Rust refuses all flags where one lacks the field. A document of a proxy stays as it is, because its digest is of that.
 */
export function normalisingWritten(
  value: JsonValue | undefined,
  onRefused: (flag: RefusedFlag) => void,
): DocumentWork<NormalisedDocument> {
  return normalisingAs(value, { warnings: [], onRefused, fillsIn: true });
}

interface Normalisation {
  readonly warnings: DocumentWarning[];
  readonly onRefused: (flag: RefusedFlag) => void;
  readonly fillsIn: boolean;
}

function* normalisingAs(value: JsonValue | undefined, how: Normalisation): DocumentWork<NormalisedDocument> {
  const { warnings } = how;
  if (!isJsonObject(value))
    throw invalid([], `a flag document is an object with "flags", but this is ${kindOf(value)}`);
  const flags = yield* normaliseFlags(value["flags"], how);
  const metadata = normaliseMetadata(value["metadata"], ["metadata"], warnings);
  const evaluators = normaliseEvaluators(value["$evaluators"]);
  for (const key of Object.keys(value)) {
    if (!["flags", "metadata", "$evaluators"].includes(key) && !isDocumentation(key))
      warnings.push({
        path: [key],
        message: `${quoted(key)} is not a field of a flag document and is not served`,
      });
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

function* normaliseFlags(value: JsonValue | undefined, how: Normalisation): DocumentWork<JsonObject> {
  // As in flagd: `flags:` with nothing below it in YAML means that there are none.
  if (value === null) return {};
  if (!isJsonObject(value) && !Array.isArray(value))
    throw invalid(["flags"], `"flags" must be an object, but it is ${kindOf(value)}`);
  // The place of a flag is its key, or in a list its index.
  const written = value as JsonObject;
  const indexes = Array.isArray(value) ? indexesByKey(value as readonly JsonValue[], how) : undefined;
  const keys = indexes === undefined ? Object.keys(written) : [...indexes.keys()];
  const flags: Record<string, JsonValue> = {};
  for (const [index, key] of keys.entries()) {
    const place = indexes?.get(key) ?? key;
    const flag = normaliseFlag(key, written[place], ["flags", place], how);
    if (flag !== undefined) define(flags, key, flag);
    if (isStep(index)) yield;
  }
  if (isSorted(keys)) return flags;
  const sorted: Record<string, JsonValue> = {};
  for (const [index, key] of keys.sort(compareUtf8).entries()) {
    if (Object.hasOwn(flags, key)) define(sorted, key, flags[key] ?? null);
    if (isStep(index)) yield;
  }
  return sorted;
}

function isSorted(keys: readonly string[]): boolean {
  return keys.every((key, index) => index === 0 || compareUtf8(keys[index - 1] ?? "", key) < 0);
}

/** flagd also accepts a list of flags with a "key" each. Of flags with the same key only the last one counts, even if it can't be served. */
function indexesByKey(
  list: readonly JsonValue[],
  { warnings, onRefused }: Normalisation,
): ReadonlyMap<string, string> {
  const indexes = new Map<string, string>();
  list.forEach((flag, index) => {
    const path = ["flags", String(index)];
    const key = isJsonObject(flag) ? flag["key"] : undefined;
    if (typeof key !== "string" || key === "") {
      const message = `a flag in a list needs a "key"`;
      onRefused({ key: "", written: message, problems: [{ path, message }] });
      return;
    }
    if (indexes.has(key))
      warnings.push({ path, message: `the flag ${quoted(key)} occurs twice; the later one is served` });
    indexes.set(key, String(index));
  });
  return indexes;
}

/** Returns the flag as it is served; undefined if it is refused. */
function normaliseFlag(
  key: string,
  flag: JsonValue | undefined,
  path: readonly string[],
  { warnings, onRefused, fillsIn }: Normalisation,
): JsonObject | undefined {
  const problems = problemsOf(key, flag, path);
  if (problems.length > 0 || !isJsonObject(flag)) {
    const written = unservable(flag ?? null) === undefined ? (flag ?? null) : (problems[0]?.message ?? "");
    onRefused({ key, written, problems });
    return undefined;
  }
  const { variants, defaultVariant } = flag;
  if (
    typeof defaultVariant === "string" &&
    defaultVariant !== "" &&
    !Object.hasOwn((variants ?? {}) as JsonObject, defaultVariant)
  )
    warnings.push({
      path: [...path, "defaultVariant"],
      message: `"defaultVariant" of ${last(path)} is ${quoted(defaultVariant)}, which is not one of its variants: agents reject this flag, stock flagd rejects the whole document`,
    });
  const metadata = normaliseMetadata(flag["metadata"], [...path, "metadata"], warnings);
  const normalised: Record<string, JsonValue> = {};
  for (const field of flagFields) {
    const content = field === "metadata" ? metadata : flag[field];
    // Null means the same as an absent field, but some providers read only the latter.
    if (!isAbsent(content)) normalised[field] = content;
    else if (fillsIn && field === "defaultVariant") normalised[field] = "";
  }
  return normalised;
}

/** Returns all that keeps a flag from being served. */
function problemsOf(
  key: string,
  flag: JsonValue | undefined,
  path: readonly string[],
): readonly DocumentWarning[] {
  if (!isJsonObject(flag))
    return [{ path, message: `a flag is an object, but ${last(path)} is ${kindOf(flag)}` }];
  const problem = unservable(flag);
  if (problem !== undefined) return [{ path, message: `${last(path)} ${problem}` }];
  const problems: DocumentWarning[] = [];
  if (key === "") problems.push({ path, message: "a flag needs a key, and this one is empty" });
  const expect = (field: string, isRight: boolean, expected: string): void => {
    if (isRight) return;
    const message = `${quoted(field)} of ${last(path)} must be ${expected}, but it is ${kindOf(flag[field])}`;
    problems.push({ path: [...path, field], message });
  };
  const { state, variants, defaultVariant, targeting, metadata } = flag;
  expect("state", isAbsent(state) || typeof state === "string", "ENABLED or DISABLED");
  expect("variants", isAbsent(variants) || isJsonObject(variants), "an object");
  expect(
    "defaultVariant",
    isAbsent(defaultVariant) || typeof defaultVariant === "string",
    'the name of one of "variants", in quotes',
  );
  expect("targeting", isAbsent(targeting) || isJsonObject(targeting), "an object");
  expect("metadata", isAbsent(metadata) || isJsonObject(metadata), "an object");
  return problems;
}

function normaliseMetadata(
  value: JsonValue | undefined,
  path: readonly string[],
  warnings: DocumentWarning[],
): JsonObject | undefined {
  if (isAbsent(value)) return undefined;
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
  return sortedObject(kept.map((key) => [key, value[key] ?? null]));
}

function normaliseEvaluators(value: JsonValue | undefined): JsonObject | undefined {
  if (isAbsent(value)) return undefined;
  if (!isJsonObject(value))
    throw invalid(["$evaluators"], `"$evaluators" must be an object, but it is ${kindOf(value)}`);
  for (const [name, evaluator] of Object.entries(value)) {
    const problem = unservable(evaluator);
    if (problem !== undefined) throw invalid(["$evaluators", name], `${quoted(name)} ${problem}`);
  }
  return value;
}

/** Defines an own property, so that a flag called `__proto__` stays a flag. */
function define(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
  else object[key] = value;
}

/** As in flagd, null is nothing. */
function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function refuseDocument({ problems: [first] }: RefusedFlag): never {
  throw invalid(first?.path ?? [], first?.message ?? "");
}

function invalid(path: readonly string[], message: string): ProtocolError {
  return new ProtocolError("DOCUMENT_INVALID", message, path);
}

function last(path: readonly string[]): string {
  return quoted(path.at(-1) ?? "");
}

function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" && !Number.isFinite(value)) return "a number beyond 1.8e308";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
