import { evaluatorsOf, inlineReferences } from "@bunting/evaluation";
import {
  documentHeapBytes,
  isJsonObject,
  ProtocolError,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import type { DocumentRoom } from "@bunting/runtime";

export interface FlagSetLimits {
  /** How long the result may become: each flag has the metadata and the evaluators of its document. */
  readonly maxBytes: number;
  /** Of the heap, on which both documents are at once. */
  readonly room: Pick<DocumentRoom, "has">;
}

export class FlagSetsTooLargeError extends Error {}

const start = Buffer.from('{"flags":[');
const end = Buffer.from("]}");

/** A flag, with the parts of its document that apply to it. */
interface FlagOfSet {
  readonly flagSetId: string;
  readonly definition: JsonObject;
}

/**
 * Merges an update into the current document of a source with `incrementalUpdates`: the flags of the flag sets that it names are
 * replaced, and those of other sets stay. As in flagd, a document names a set by `flagSetId` in its metadata; one that does not replaces
 * everything, and so does one that can't be read, for the store to refuse.
 *
 * @throws FlagSetsTooLargeError if there is no room for that
 */
export function replaceFlagSets(
  current: Buffer | undefined,
  update: Buffer,
  { maxBytes, room }: FlagSetLimits,
): Buffer {
  const heapBytes = heapOf(update);
  const heapBefore = current && heapOf(current);
  if (heapBytes === undefined) return update;
  if (!room.has(heapBytes + (heapBefore ?? 0))) throw new FlagSetsTooLargeError();
  const document = parse(update);
  const metadata = document?.["metadata"];
  const flagSetId = isJsonObject(metadata) ? metadata["flagSetId"] : undefined;
  if (document === undefined || typeof flagSetId !== "string" || flagSetId === "") return update;
  const flags = flagsOf(document);
  const named = new Set([flagSetId, ...flags.map((flag) => flag.flagSetId)]);
  const before = current === undefined || heapBefore === undefined ? undefined : parse(current);
  const kept = before === undefined ? [] : flagsOf(before).filter((flag) => !named.has(flag.flagSetId));
  let bytesLeft = maxBytes;
  const texts = [...kept, ...flags].map(({ definition }, index) => {
    const text = Buffer.from(`${index === 0 ? "" : ","}${JSON.stringify(definition)}`);
    bytesLeft -= text.length;
    if (bytesLeft < 0) throw new FlagSetsTooLargeError();
    return text;
  });
  return Buffer.concat([start, ...texts, end]);
}

/** Undefined if it is nested too deep. */
function heapOf(json: Buffer): number | undefined {
  try {
    return documentHeapBytes(json);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** @param bytes whose heap is known, and which are so not nested too deep */
function parse(bytes: Buffer): JsonObject | undefined {
  try {
    const value = JSON.parse(bytes.toString()) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The flags of a document, with its metadata and evaluators put into each of them: those of other sets may differ. */
function flagsOf({ flags, metadata, $evaluators }: JsonObject): FlagOfSet[] {
  const common = isJsonObject(metadata) ? metadata : {};
  const evaluators = evaluatorsOf(isJsonObject($evaluators) ? $evaluators : {});
  const entries: (readonly [key: JsonValue | undefined, flag: JsonValue])[] = Array.isArray(flags)
    ? (flags as readonly JsonValue[]).map((flag) => [isJsonObject(flag) ? flag["key"] : undefined, flag])
    : Object.entries(isJsonObject(flags) ? flags : {});
  return entries.flatMap(([key, written]) => {
    const flag = withoutReferences(written, evaluators);
    if (!isJsonObject(flag) || key === undefined) return [];
    const own = isJsonObject(flag["metadata"]) ? flag["metadata"] : {};
    const all = { ...common, ...own };
    const definition = { ...flag, key, metadata: all };
    const { flagSetId } = all;
    return [{ flagSetId: typeof flagSetId === "string" ? flagSetId : "", definition }];
  });
}

/** Where a reference can't be replaced the flag stays as it is, and the evaluation that reaches the reference fails. */
function withoutReferences(flag: JsonValue, evaluators: JsonObject): JsonValue {
  try {
    return inlineReferences(flag, evaluators, (reason) => {
      throw new UnreplacedError(reason);
    });
  } catch (error) {
    if (error instanceof UnreplacedError) return flag;
    throw error;
  }
}

class UnreplacedError extends Error {}
