import { readText, type TextDocument, type TextLimits, type TextPosition } from "@bunting/files/text";
import { nextTurn } from "@bunting/runtime/scheduling";
import { isJsonObject, type JsonValue, type TopicKey } from "@bunting/protocol";
import type { Manifest, ManifestError, ManifestFlags, ManifestWarning, PlainTopic } from "./manifest.js";
import { objectError, type ObjectFlags, type ObjectReading } from "./object-reading.js";
import { readFeatureFlag } from "./read-feature-flag.js";
import { readFlags } from "./read-flags.js";

/** Between the steps of reading a longer text the event loop is let through: it serves the subscribers. */
const bytesAtOnce = 32_768;

/**
 * Reads a file of flags: FeatureFlag manifests, one, several, or in a List; or a plain flagd document. Other Kubernetes objects are
 * passed over. What can't be served becomes an error with its line; the rest of the file is read all the same, unless the file is not
 * YAML or JSON at all.
 */
export async function readManifest(
  path: string,
  bytes: Buffer,
  plain: PlainTopic,
  limits?: TextLimits,
): Promise<Manifest> {
  const text = await readText(path, bytes, limits);
  if (text.kind === "error") return { flags: [], errors: [text], warnings: [] };
  const reading: Reading = { plain, flags: [], errors: [], warnings: [] };
  for (const document of text.documents) {
    const before = reading.flags.length + reading.errors.length;
    readValue({ document, path: [], value: document.value }, reading);
    const isRead = reading.flags.length + reading.errors.length > before;
    if (!isRead) continue;
    if (bytes.length > bytesAtOnce) await nextTurn();
    // One by one, here and below: a call has no room for a hundred thousand arguments.
    for (const warning of document.warnings()) reading.warnings.push(warning);
  }
  return onceEach(reading);
}

/** A value at its place in a document. */
interface ManifestPlace {
  readonly document: TextDocument;
  readonly path: readonly string[];
  readonly value: JsonValue;
}

interface Reading {
  readonly plain: PlainTopic;
  readonly flags: ManifestFlags[];
  readonly errors: ManifestError[];
  readonly warnings: ManifestWarning[];
}

function readValue(place: ManifestPlace, reading: Reading): void {
  const { value, document, path } = place;
  if (value === null) return;
  if (isJsonObject(value) && Array.isArray(value["items"]) && isListKind(value["kind"])) {
    (value["items"] as readonly JsonValue[]).forEach((item, index) =>
      readValue({ document, path: [...path, "items", String(index)], value: item }, reading),
    );
    return;
  }
  const read = readObject(value, reading.plain);
  if (read === undefined) return;
  const positionOf = (inner: readonly string[]): TextPosition => document.positionOf([...path, ...inner]);
  if ("reason" in read) {
    const { more = [], ...first } = read;
    for (const { path: at, ...error } of [first, ...more])
      reading.errors.push({ ...error, ...positionOf(at) });
  } else {
    reading.flags.push(placed(read.flags, positionOf));
    for (const { path: at, ...warning } of read.warnings)
      reading.warnings.push({ ...warning, ...positionOf(at) });
    for (const refusal of refusals(read.flags, positionOf)) reading.errors.push(refusal);
  }
}

/** What is wrong with the flags that are refused alone. */
function refusals(
  { topic, path, refused = [] }: ObjectFlags,
  positionOf: (path: readonly string[]) => TextPosition,
): readonly ManifestError[] {
  return refused.flatMap(({ key, problems }) =>
    problems.map(({ path: at, message }) => ({
      reason: "document" as const,
      message,
      topic,
      flag: key,
      ...positionOf([...path, ...at]),
    })),
  );
}

/** Flags with the way back to the file. */
function placed(flags: ObjectFlags, positionOf: (path: readonly string[]) => TextPosition): ManifestFlags {
  return { ...flags, ...positionOf([]), positionOf: (inner) => positionOf([...flags.path, ...inner]) };
}

function isListKind(kind: JsonValue | undefined): boolean {
  return kind === "List" || kind === "FeatureFlagList";
}

function readObject(value: JsonValue, plain: PlainTopic): ObjectReading {
  if (!isJsonObject(value))
    return objectError("manifest", "expected an object: a FeatureFlag manifest or a flagd document");
  if ((value["kind"] ?? value["apiVersion"] ?? null) !== null) return readFeatureFlag(value);
  if (value["flags"] === undefined) {
    const message = `there is neither "kind", as in a FeatureFlag manifest, nor "flags", as in a flagd document`;
    return objectError("manifest", message);
  }
  return "problem" in plain ? objectError("manifest", plain.problem) : readFlags(plain.topic, value);
}

/** Of two FeatureFlags of one name in a file the first is served. */
function onceEach({ flags, errors, warnings }: Reading): Manifest {
  const kept = new Map<TopicKey, ManifestFlags>();
  const twice: ManifestError[] = [];
  for (const entry of flags) {
    const { topic, line, column } = entry;
    const first = kept.get(topic);
    if (first === undefined) kept.set(topic, entry);
    else
      twice.push({
        reason: "duplicate",
        line,
        column,
        message: `${topic} is on line ${first.line} already; that one is served`,
        topic,
      });
  }
  return { flags: [...kept.values()], errors: [...errors, ...twice], warnings };
}
