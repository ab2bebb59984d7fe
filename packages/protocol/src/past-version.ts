import { digestBytes } from "./document-digest.js";
import type { JsonValue } from "./json.js";

/** A version before another, and what changed on the way from it to the one after it, by name only: no value is kept. */
export interface PastVersion {
  /** SHA-256 of its document, in hex. */
  readonly digest: string;
  /** Keys of flags that came, went or changed. */
  readonly flags: readonly string[];
  readonly metadata: boolean;
  readonly evaluators: boolean;
}

/** How many versions before the newest a delta can start from. */
export const historyLength = 32;
/** Of all versions of a history that leaves the process. Who edits a flag at a time needs some two thousand. */
export const maxHistoryBytes = 64 * 1024;
/** Keys of all its versions. */
export const maxHistoryKeys = 4_096;

/** What a version and a key take at most besides their text, in each of the forms that a history is written in. */
const bytesPerVersion = 80;
const bytesPerKey = 4;
/** On the heap. */
const heapPerVersion = 300;
const heapPerKey = 40;

/** The newest versions of a history that may leave the process. */
export function boundedHistory(history: readonly PastVersion[]): readonly PastVersion[] {
  let [bytes, keys] = [0, 0];
  let from = history.length;
  while (from > 0 && history.length - from < historyLength) {
    const flags = history[from - 1]?.flags ?? [];
    keys += flags.length;
    // A UTF-16 unit takes at least one byte: what is too much by this count is not measured.
    if (keys > maxHistoryKeys || flags.reduce((sum, key) => sum + key.length, bytes) > maxHistoryBytes) break;
    bytes += flags.reduce((sum, key) => sum + bytesPerKey + writtenBytes(key), bytesPerVersion);
    if (bytes > maxHistoryBytes) break;
    from--;
  }
  return history.slice(from);
}

export function historyHeapBytes(history: readonly PastVersion[]): number {
  return history.reduce(
    (sum, { flags }) => flags.reduce((all, key) => all + heapPerKey + key.length * 2, sum + heapPerVersion),
    0,
  );
}

/** A history as JSON, within its bounds: its newest versions. */
export function historyToJson(history: readonly PastVersion[]): JsonValue {
  return boundedHistory(history).map(({ digest, flags, metadata, evaluators }) => [
    Buffer.from(digest, "hex").toString("base64url"),
    [...flags],
    (metadata ? 1 : 0) + (evaluators ? 2 : 0),
  ]);
}

/** Undefined if it is no history, or one beyond the bounds: it is of use only, and needed for nothing. */
export function historyFromJson(value: unknown): readonly PastVersion[] | undefined {
  if (!Array.isArray(value) || value.length > historyLength) return undefined;
  const history = value.map(pastVersionFromJson);
  const isHistory = history.every((version) => version !== undefined);
  return isHistory && boundedHistory(history).length === history.length ? history : undefined;
}

function pastVersionFromJson(value: unknown): PastVersion | undefined {
  const [encoded, flags, parts] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (typeof encoded !== "string" || !Array.isArray(flags) || typeof parts !== "number") return undefined;
  const digest = Buffer.from(encoded, "base64url");
  if (digest.length !== digestBytes || !flags.every((key) => typeof key === "string")) return undefined;
  return {
    digest: digest.toString("hex"),
    flags,
    metadata: (parts & 1) !== 0,
    evaluators: (parts & 2) !== 0,
  };
}

/** As JSON, where a character may be escaped; never less than in a message. */
function writtenBytes(key: string): number {
  return Buffer.byteLength(JSON.stringify(key));
}
