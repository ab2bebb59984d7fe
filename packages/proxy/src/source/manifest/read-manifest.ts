import { extname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isJsonObject, type JsonValue, type TopicKey } from "@bunting/protocol";
import type { InvalidReason } from "../source-metrics.js";
import {
  faultAt,
  type Manifest,
  type ManifestFault,
  type ManifestFlags,
  type Place,
  type PlainTopic,
  type ReadPlace,
} from "./manifest.js";
import { parseJsonText } from "./parse-json-text.js";
import type { ParsedText, TextRemark } from "./parsed-text.js";
import { readFeatureFlag } from "./read-feature-flag.js";
import { readFlags } from "./read-flags.js";

/** Between the steps of reading a longer text the event loop is let through: it serves the subscribers. */
const charactersAtOnce = 32_768;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a file of flags: FeatureFlag manifests, one, several, or in a List; or a plain flagd document. Other Kubernetes objects are
 * passed over. What can't be served becomes a fault with its line; the rest of the file is read all the same, unless the file is no
 * YAML or JSON at all.
 */
export async function readManifest(path: string, bytes: Uint8Array, plain: PlainTopic): Promise<Manifest> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refused("encoding", 1, "the file is not UTF-8 text");
  }
  if (text.trim() === "") return refused("empty", 1, "the file is empty");
  const parsed = await parseText(path, text);
  if (parsed.kind === "invalid") return refused("syntax", parsed.line, parsed.message);
  if (parsed.documents.every(({ value }) => value === null))
    return refused("empty", 1, "the file holds no document");
  const reading: Reading = { plain, flags: [], faults: [], remarks: [] };
  for (const document of parsed.documents) {
    const before = reading.flags.length + reading.faults.length;
    readValue({ document, path: [], value: document.value }, reading);
    const concernsUs = reading.flags.length + reading.faults.length > before;
    if (!concernsUs) continue;
    if (text.length > charactersAtOnce) await setImmediate();
    reading.remarks.push(...document.remarks());
  }
  return onceEach(reading);
}

/** JSON is read as what it is: that takes a tenth of the time of the YAML that it also is. YAML's reader is loaded on first use. */
async function parseText(path: string, text: string): Promise<ParsedText> {
  const isJsonFile = extname(path) === ".json";
  if (isJsonFile || /^\s*[{[]/.test(text)) {
    const parsed = parseJsonText(text);
    if (parsed.kind === "documents" || (isJsonFile && !/^---/m.test(text))) return parsed;
  }
  const { parseYamlText } = await import("./parse-yaml-text.js");
  return parseYamlText(text);
}

interface Reading {
  readonly plain: PlainTopic;
  readonly flags: ManifestFlags[];
  readonly faults: ManifestFault[];
  readonly remarks: TextRemark[];
}

function readValue(place: Place, reading: Reading): void {
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
    reading.faults.push(read);
  } else {
    reading.flags.push(read.flags);
    reading.remarks.push(...read.remarks);
  }
}

function isListKind(kind: JsonValue | undefined): boolean {
  return kind === "List" || kind === "FeatureFlagList";
}

function readObject(place: Place, plain: PlainTopic): ReadPlace {
  const { value } = place;
  if (!isJsonObject(value)) {
    return faultAt(place, "manifest", "expected an object: a FeatureFlag manifest or a flagd document");
  }
  if (value["kind"] !== undefined || value["apiVersion"] !== undefined) return readFeatureFlag(place, value);
  if (value["flags"] === undefined) {
    const message = `there is neither "kind", as in a FeatureFlag manifest, nor "flags", as in a flagd document`;
    return faultAt(place, "manifest", message);
  }
  return "problem" in plain
    ? faultAt(place, "manifest", plain.problem)
    : readFlags(place, plain.topic, value);
}

/** Of two FeatureFlags of one name in a file the first is served. */
function onceEach({ flags, faults, remarks }: Reading): Manifest {
  const kept = new Map<TopicKey, ManifestFlags>();
  const twice: ManifestFault[] = [];
  for (const entry of flags) {
    const { topic, line } = entry;
    const first = kept.get(topic);
    if (first === undefined) kept.set(topic, entry);
    else
      twice.push({
        reason: "duplicate",
        line,
        message: `${topic} is on line ${first.line} already; that one is served`,
        topic,
      });
  }
  return { flags: [...kept.values()], faults: [...faults, ...twice], remarks };
}

function refused(reason: InvalidReason, line: number, message: string): Manifest {
  return { flags: [], faults: [{ reason, line, message }], remarks: [] };
}
