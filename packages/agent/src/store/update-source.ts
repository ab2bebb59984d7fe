import {
  heapWeights,
  isJsonObject,
  maxDocumentDepth,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import type { DocumentIndex } from "../document/document-index.js";
import { indexDocument, type IndexedDocument } from "../document/index-document.js";
import { ScanError } from "../document/json-scanner.js";
import {
  compiledHeapBytes,
  evaluatorsOf,
  FlagError,
  hasSameVariants,
  isSameFlag,
  isSameJson,
  metadataOf,
  parseFlag,
  servableEvaluators,
  type Flag,
  type FlagSetContext,
  type InvalidFlag,
} from "@bunting/evaluation";
import { identity } from "./flag-change.js";
import { isSameSlice, parseSlice, parseText, type Slice } from "../document/slice.js";

/** The document of one source, and the flags parsed from it. Immutable: an update creates a new one. */
export interface SourceDocument {
  readonly index: DocumentIndex;
  readonly set: FlagSetContext;
  /** As they are written: those of `set` contain each other, so that comparing these takes less. */
  readonly evaluators: JsonObject;
  /** What `compiledHeapBytes` says of the evaluators. */
  readonly evaluatorBytes: number;
  /** By row of the index; undefined for a rejected flag that had no previous value. */
  readonly flags: readonly (Flag | undefined)[];
  /** Rejected flags by their id in the index. */
  readonly rejected: ReadonlyMap<string, InvalidFlag>;
  /** The heap that the flags and their set take, in bytes: as JsonScanner counts it, and what is compiled beside that. */
  readonly weight: number;
}

export interface SourceUpdate {
  readonly state: SourceDocument;
  /** Flags that are new or changed. */
  readonly put: readonly Flag[];
  /** Flags that were removed; none of them has a successor with the same key and flagSetId in `put`. */
  readonly removed: readonly Flag[];
  /** Flags of `state.rejected` that were not rejected before, or for another reason. */
  readonly newlyRejected: readonly InvalidFlag[];
}

/**
 * Derives the next state of a source from the bytes of a document. Only changed flags are parsed, and a flag that means the same as before
 * keeps its object. It has no effects, so a failure leaves the previous state as it was.
 *
 * @param onWeight see ScanOptions
 * @throws ScanError if it is not a flag document
 */
export function updateSource(
  bytes: Buffer,
  previous: SourceDocument | undefined,
  source: { readonly uri: string; readonly sourceIndex: number },
  onWeight: (weight: number) => void,
): SourceUpdate {
  const indexed = indexDocument(bytes, previous?.index, { onWeight, maxDepth: maxDocumentDepth });
  const { index } = indexed;
  const { set, evaluators, evaluatorBytes } = readSet(index, previous, source, onWeight);
  const rows = rowsToDerive(indexed, set, previous);
  // A flag that is not derived, or is rejected, keeps its previous value.
  const flags = indexed.previousRows.map((row) => (row < 0 ? undefined : previous?.flags[row]));
  keepAddedWeights(indexed, previous);
  const setBytes = set.evaluators === previous?.set.evaluators ? 0 : index.setWeight + evaluatorBytes;
  const derived = deriveFlags(rows, indexed, set, flags, (weight) => onWeight(setBytes + weight));

  const rejected = stillRejected(indexed, rows, previous);
  const newlyRejected: InvalidFlag[] = [];
  for (const [row, result] of derived) {
    if (!("reason" in result)) continue;
    const id = index.entries.ids[row] ?? "";
    rejected.set(id, result);
    if (previous?.rejected.get(id)?.reason !== result.reason) newlyRejected.push(result);
  }

  const replaced = new Map<string, Flag>();
  for (const [row, result] of derived) {
    const before = flags[row];
    if (before !== undefined && !("reason" in result)) replaced.set(identity(before), before);
  }
  for (const flag of goneFlags(indexed, previous)) replaced.set(identity(flag), flag);
  const put: Flag[] = [];
  for (const [row, flag] of derived) {
    if ("reason" in flag) continue;
    // Maybe that of another row: a flag may have taken over the flagSetId of one that is gone.
    const before = replaced.get(identity(flag));
    replaced.delete(identity(flag));
    const isSame = before !== undefined && isSameFlag(before, flag);
    flags[row] = isSame ? before : flag;
    if (!isSame) put.push(flag);
  }
  const weight = index.entries.totalWeight() + index.setWeight + evaluatorBytes;
  const state = { index, set, evaluators, evaluatorBytes, flags, rejected, weight };
  return { state, put, removed: [...replaced.values()], newlyRejected };
}

/**
 * Parses the flags of these rows. Each shares what it can with its previous value, and its weight is noted in the index.
 *
 * @param before the previous values, by row
 */
function deriveFlags(
  rows: readonly number[],
  indexed: IndexedDocument,
  set: FlagSetContext,
  before: readonly (Flag | undefined)[],
  onWeight: (weight: number) => void,
): ReadonlyMap<number, Flag | InvalidFlag> {
  const { entries } = indexed.index;
  // A flag with metadata of its own has a copy of the set's.
  const copiedWeight = Object.keys(set.metadata).length * heapWeights.serving.property;
  // In-process providers get the set's metadata in each flag.
  const writtenWeight = JSON.stringify(set.metadata).length;
  let weight = weightOf(rows, indexed);
  onWeight(weight);
  const derived = new Map<number, Flag | InvalidFlag>();
  for (const row of rows) {
    entries.setAddedWeight(row, 0);
    const result = deriveFlag(indexed.index, row, {
      ...set,
      onReferences: (bytes) => entries.setAddedWeight(row, bytes * heapWeights.serving.referencedByte),
    });
    if ("metadata" in result) {
      const copied = result.metadata === set.metadata ? 0 : copiedWeight;
      const compiled = compiledHeapBytes(result.targeting ?? null);
      entries.setAddedWeight(row, entries.addedWeight(row) + copied + writtenWeight + compiled);
    }
    onWeight((weight += entries.addedWeight(row)));
    const previous = before[row];
    derived.set(row, "reason" in result || previous === undefined ? result : shareParts(result, previous));
  }
  return derived;
}

/** The flags whose text is the same, and that are not derived again, have the references that they had. */
function keepAddedWeights(
  { index, previousRows }: IndexedDocument,
  previous: SourceDocument | undefined,
): void {
  if (previous === undefined) return;
  previousRows.forEach((previousRow, row) => {
    if (previousRow >= 0) index.entries.setAddedWeight(row, previous.index.entries.addedWeight(previousRow));
  });
}

function readSet(
  index: DocumentIndex,
  previous: SourceDocument | undefined,
  source: { readonly uri: string; readonly sourceIndex: number },
  onWeight: (weight: number) => void,
): Pick<SourceDocument, "set" | "evaluators" | "evaluatorBytes"> {
  const isUnchanged = (part: "metadata" | "evaluators"): boolean =>
    previous !== undefined &&
    isSameSlice(index.bytes, index[part], previous.index.bytes, previous.index[part]);
  const metadata = isUnchanged("metadata")
    ? previous?.set.metadata
    : metadataOf(readObject(index.bytes, index.metadata, "metadata"));
  const written = isUnchanged("evaluators")
    ? previous?.evaluators
    : servableEvaluators(readObject(index.bytes, index.evaluators, "$evaluators"));
  const evaluators = written ?? {};
  // Before they are referred to: an evaluator that is counts as nothing in a rule.
  const evaluatorBytes =
    evaluators === previous?.evaluators
      ? previous.evaluatorBytes
      : Object.values(evaluators).reduce<number>((sum, rule) => sum + compiledHeapBytes(rule), 0);
  if (evaluators !== previous?.evaluators) onWeight(index.setWeight + evaluatorBytes);
  const isSame = previous !== undefined && isSameJson(evaluators, previous.evaluators);
  const set = {
    metadata: metadata ?? {},
    evaluators: isSame ? previous.set.evaluators : evaluatorsOf(evaluators),
    source: source.uri,
    sourceIndex: source.sourceIndex,
  };
  return { set, evaluators, evaluatorBytes };
}

function readObject(bytes: Buffer, slice: Slice | undefined, name: string): JsonObject {
  const value = slice === undefined ? null : parseSlice(bytes, slice);
  if (value === null) return {};
  if (!isJsonObject(value)) throw new ScanError(`"${name}" must be an object`, slice?.start ?? 0);
  return value;
}

/** Rows whose text changed, and those that the new metadata or evaluators may change. */
function rowsToDerive(
  { index, changedRows }: IndexedDocument,
  set: FlagSetContext,
  previous: SourceDocument | undefined,
): readonly number[] {
  if (previous === undefined) return changedRows;
  const { entries } = index;
  const allRows = (): number[] => [...entries.ids.keys()];
  if (!isSameJson(set.metadata, previous.set.metadata)) return allRows();
  if (set.evaluators === previous.set.evaluators) return changedRows;
  const referring = allRows().filter((row) => entries.mentionsReference(row));
  return [...new Set([...changedRows, ...referring])];
}

/** The heap that deriving these rows adds: nearly nothing for those whose text is the same, as they share their parts. */
function weightOf(rows: readonly number[], { index, changedRows }: IndexedDocument): number {
  const changed = new Set(changedRows);
  const weights = rows.map((row) =>
    changed.has(row) || index.entries.mentionsReference(row)
      ? index.entries.weight(row)
      : heapWeights.serving.flag,
  );
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** Shares equal parts with the previous flag, so that they are on the heap only once. */
function shareParts(flag: Flag, before: Flag): Flag {
  const { targeting } = flag;
  const hasSameRule =
    targeting !== undefined && before.targeting !== undefined && isSameJson(targeting, before.targeting);
  return {
    ...flag,
    variants: hasSameVariants(flag.variants, before.variants) ? before.variants : flag.variants,
    targeting: hasSameRule ? before.targeting : targeting,
  };
}

function stillRejected(
  { index }: IndexedDocument,
  derivedRows: readonly number[],
  previous: SourceDocument | undefined,
): Map<string, InvalidFlag> {
  const rejected = new Map<string, InvalidFlag>();
  if (previous === undefined || previous.rejected.size === 0) return rejected;
  const derivedAgain = new Set(derivedRows);
  index.entries.ids.forEach((id, row) => {
    const rejection = previous.rejected.get(id);
    if (rejection !== undefined && !derivedAgain.has(row)) rejected.set(id, rejection);
  });
  return rejected;
}

/** Parses one flag. A problem that concerns only this flag is returned as a rejection. */
function deriveFlag(
  { bytes, entries, isList }: DocumentIndex,
  row: number,
  set: FlagSetContext,
): Flag | InvalidFlag {
  const id = entries.ids[row] ?? "";
  const { start, end } = entries.value(row);
  const definition = parseDefinition(bytes.toString("utf8", start, end), start, isList ? undefined : id);
  const key = isList ? keyOf(definition) : id;
  if (entries.isTooDeep(row))
    return {
      key,
      reason: `flag ${JSON.stringify(key)}: its objects and lists are nested more than ${maxDocumentDepth} levels deep`,
    };
  try {
    return parseFlag(key, definition, set);
  } catch (error) {
    if (error instanceof FlagError) return { key, reason: error.message };
    throw error;
  }
}

function parseDefinition(text: string, offset: number, key: string | undefined): JsonValue {
  try {
    return parseText(text, offset);
  } catch (error) {
    if (!(error instanceof ScanError) || key === undefined) throw error;
    throw new ScanError(`in the flag ${JSON.stringify(key)}: ${error.message}`, error.offset);
  }
}

/** Of a flag in a list: a list that has one without a key is no document. */
function keyOf(definition: JsonValue): string {
  const key = isJsonObject(definition) ? definition["key"] : undefined;
  return typeof key === "string" ? key : "";
}

function* goneFlags({ previousRows }: IndexedDocument, previous: SourceDocument | undefined): Iterable<Flag> {
  if (previous === undefined) return;
  const kept = new Uint8Array(previous.flags.length);
  for (const row of previousRows) if (row >= 0) kept[row] = 1;
  for (const [row, flag] of previous.flags.entries()) {
    if (kept[row] === 0 && flag !== undefined) yield flag;
  }
}

/** The document of a source at another place in the list. It shares everything with what it is made of but its flags, which know the place. */
export function movedSource(document: SourceDocument, sourceIndex: number): SourceDocument {
  if (document.set.sourceIndex === sourceIndex) return document;
  return {
    ...document,
    set: { ...document.set, sourceIndex },
    flags: document.flags.map((flag) => (flag === undefined ? undefined : { ...flag, sourceIndex })),
  };
}
