import { evaluatorsOf, metadataOf } from "@bunting/evaluation";
import {
  atOnce,
  encodeDocument,
  isJsonObject,
  type DocumentWork,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { checkFlag } from "./check-flag.js";
import type { Finding } from "./finding.js";
import { walkRule } from "./walk-rule.js";

export interface CheckOptions {
  /** Maximum size of a document as JSON, in bytes. */
  readonly maxDocumentBytes: number;
  /** The option that sets the maximum, for the message; absent if nobody can set it. */
  readonly limitOption?: string;
  /** After so many errors, the flags that are left are not checked, and of more findings none is a warning. Default: none is left out. */
  readonly maxFindings?: number;
}

/** A document as it is served, and as it was written. */
export interface CheckedDocument {
  readonly topic: TopicKey;
  readonly document: FlagDocument;
  readonly written: JsonValue;
}

/** Findings about a document that the proxy serves, flag by flag as agents read it. Paths begin at the document. */
export function checkDocument(checked: CheckedDocument, options: CheckOptions): readonly Finding[] {
  return atOnce(checkingDocument(checked, options));
}

/** `checkDocument` in steps of a flag each. */
export function* checkingDocument(
  { document, written, topic }: CheckedDocument,
  { maxDocumentBytes, limitOption, maxFindings = Infinity }: CheckOptions,
): DocumentWork<readonly Finding[]> {
  const findings: Finding[] = [];
  const bytes = Buffer.byteLength(encodeDocument(document));
  if (bytes > maxDocumentBytes) {
    const limit = limitOption === undefined ? maxDocumentBytes : `${maxDocumentBytes} (${limitOption})`;
    const message = `the document ${topic} has ${bytes} bytes, more than ${limit}: split it into several FeatureFlags`;
    findings.push({ severity: "error", kind: "too-large", message, path: [] });
  }
  let errors = findings.length;
  const evaluators = document.$evaluators ?? {};
  const set = {
    metadata: metadataOf(document.metadata ?? {}),
    evaluators: evaluatorsOf(evaluators),
    source: "",
    sourceIndex: 0,
  };
  const used = new Set<JsonValue>();
  for (const [key, definition] of Object.entries(document.flags)) {
    const { flag, path } = writtenFlag(written, key);
    for (const finding of checkFlag({ key, definition, written: flag, path }, set)) {
      if (finding.severity === "error") errors++;
      else if (findings.length >= maxFindings) continue;
      findings.push(finding);
    }
    const rule = isJsonObject(definition) ? (definition["targeting"] ?? null) : null;
    walkRule({ rule, path: [] }, evaluators, (name, args) => name === "$ref" && used.add(args));
    if (errors >= maxFindings) return findings;
    yield;
  }
  for (const name of Object.keys(evaluators)) {
    if (used.has(name)) continue;
    const message = `no rule refers to the evaluator ${quoted(name)}`;
    findings.push({ severity: "warning", kind: "unused-evaluator", message, path: ["$evaluators", name] });
  }
  return findings;
}

/** The flag of a document whose flags are an object, or a list in which the last one of a key counts. */
function writtenFlag(
  document: JsonValue,
  key: string,
): { readonly flag: JsonObject; readonly path: readonly string[] } {
  const flags = isJsonObject(document) ? (document["flags"] ?? null) : null;
  if (Array.isArray(flags)) {
    const list = flags as readonly JsonValue[];
    const index = list.findLastIndex((flag) => isJsonObject(flag) && flag["key"] === key);
    return { flag: objectOf(list[index] ?? null), path: ["flags", String(index)] };
  }
  return { flag: objectOf(objectOf(flags)[key] ?? null), path: ["flags", key] };
}

function objectOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}
