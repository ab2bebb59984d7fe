import { readText, type TextLimits } from "@bunting/files/text";
import { nextTurn } from "@bunting/runtime/scheduling";
import { isJsonObject, type JsonValue, type TopicKey } from "@bunting/protocol";
import {
  errorAt,
  type Manifest,
  type ManifestError,
  type ManifestFlags,
  type ManifestWarning,
  type ManifestPlace,
  type PlainTopic,
  type ReadPlace,
} from "./manifest.js";
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
  bytes: Uint8Array,
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
    reading.warnings.push(...document.warnings());
  }
  return onceEach(reading);
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
    (value["items"] as readonly JsonValue[]).forEach((item, index) => {
      readValue({ document, path: [...path, "items", String(index)], value: item }, reading);
    });
    return;
  }
  const read = readObject(place, reading.plain);
  if (read === undefined) return;
  if ("reason" in read) {
    reading.errors.push(read);
  } else {
    reading.flags.push(read.flags);
    reading.warnings.push(...read.warnings);
  }
}

function isListKind(kind: JsonValue | undefined): boolean {
  return kind === "List" || kind === "FeatureFlagList";
}

function readObject(place: ManifestPlace, plain: PlainTopic): ReadPlace {
  const { value } = place;
  if (!isJsonObject(value)) {
    return errorAt(place, "manifest", "expected an object: a FeatureFlag manifest or a flagd document");
  }
  if (value["kind"] !== undefined || value["apiVersion"] !== undefined) return readFeatureFlag(place, value);
  if (value["flags"] === undefined) {
    const message = `there is neither "kind", as in a FeatureFlag manifest, nor "flags", as in a flagd document`;
    return errorAt(place, "manifest", message);
  }
  return "problem" in plain
    ? errorAt(place, "manifest", plain.problem)
    : readFlags(place, plain.topic, value);
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
