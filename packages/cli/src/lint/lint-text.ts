import {
  checkDocument,
  checkStoredFlags,
  kindOfError,
  kindOfWarning,
  type Finding,
} from "@bunting/featureflags/checks";
import {
  maxManifestBytes,
  plainTopicOf,
  readManifest,
  type ManifestFlags,
} from "@bunting/featureflags/manifests";
import { utf8Of } from "@bunting/files/encoding";
import { isYamlName } from "@bunting/files/names";
import { helmActionIn, unrenderedTemplate } from "@bunting/files/text";
import { checkNumbers } from "./check-numbers.js";
import type { FileFinding } from "./file-finding.js";
import { lintEmbeddedFlags } from "./lint-embedded-flags.js";
import { lintObjects, type NamedFlag } from "./lint-objects.js";

export interface LintOptions {
  readonly maxDocumentBytes: number;
  /** What findings call the file. */
  readonly name: string;
  /** True for a flagd file of which the operator makes a FeatureFlag. */
  readonly isStored?: boolean;
}

export interface LintedText {
  readonly documents: number;
  readonly flags: number;
  /** By line. */
  readonly findings: readonly FileFinding[];
  /** The FeatureFlags in it, and where. */
  readonly topics: readonly { readonly topic: string; readonly line: number; readonly column: number }[];
  /** The FeatureFlags that FeatureFlagSources in it name. */
  readonly named: readonly NamedFlag[];
  /** True if there is nothing in it that claims to be flags, or asks for some. */
  readonly isForeign: boolean;
}

/** Checks a file as the proxy reads it and agents take it over. */
export async function lintText(path: string, bytes: Buffer, options: LintOptions): Promise<LintedText> {
  const { name: file } = options;
  if (bytes.length > maxManifestBytes) {
    const message = `the file has more than ${maxManifestBytes} bytes, which the proxy does not read: split it`;
    const finding = { file, line: 1, column: 1, severity: "error", kind: "unreadable", message } as const;
    return { documents: 0, flags: 0, findings: [finding], topics: [], named: [], isForeign: false };
  }
  const text = utf8Of(bytes)?.toString() ?? "";
  const plain = plainTopicOf(path);
  // An agent takes a flagd file of any name.
  const topic = "topic" in plain ? plain : ({ topic: "default/flags" } as const);
  const manifest = await readManifest(path, bytes, topic);
  const findings: FileFinding[] = [];
  for (const { reason, line, column, message } of manifest.errors)
    findings.push({ file, line, column, severity: "error", kind: kindOfError[reason], message });
  for (const error of await furtherErrors(path, text, findings))
    findings.push({ file, ...error, severity: "error", kind: "syntax" });
  for (const { kind, line, column, message } of manifest.warnings)
    findings.push({ file, line, column, severity: "warning", kind: kindOfWarning[kind], message });
  let lines: readonly string[] | undefined;
  const limits = { maxDocumentBytes: options.maxDocumentBytes, limitOption: "--max-document" };
  for (const flags of manifest.flags) {
    for (const { path: at, ...finding } of [...checkDocument(flags, limits), ...ofStored(flags, options)])
      findings.push({ file, ...flags.positionOf(at), ...finding });
    lines ??= text.split("\n");
    for (const finding of checkNumbers(flags, lines)) findings.push({ file, ...finding });
  }
  const place = manifest.flags.length === 0 ? undefined : helmActionIn(text);
  if (place !== undefined)
    findings.push({ file, ...place, severity: "warning", kind: "template", message: unrenderedTemplate });
  const inner = await lintEmbeddedFlags(path, text, ({ key, bytes: inner, isAnnotation: isStored }) =>
    lintText(key, inner, { ...options, isStored }),
  );
  for (const finding of inner.findings) findings.push(finding);
  const { objects, named, findings: ofObjects } = await lintObjects(path, text);
  for (const finding of ofObjects) findings.push({ file, ...finding });
  return {
    documents: manifest.flags.length + inner.documents,
    flags:
      manifest.flags.reduce((sum, { document }) => sum + Object.keys(document.flags).length, 0) + inner.flags,
    findings: inOrder(findings),
    topics: manifest.flags.map(({ topic, line, column }) => ({ topic, line, column })),
    named,
    isForeign:
      manifest.flags.length + inner.documents + objects === 0 &&
      !/FeatureFlag|["']?\bflags\b["']?\s*:|flagSpec/.test(text),
  };
}

/** A flagd file is the document itself, and asks for less. Without `state`, a flag of any file has a finding. */
function ofStored({ path, written }: ManifestFlags, { isStored = false }: LintOptions): readonly Finding[] {
  return path.length === 0 && !isStored
    ? []
    : checkStoredFlags(written).filter(({ path: at }) => at.at(-1) !== "state");
}

/** Errors of YAML beside the one at which the proxy stops to read a file; of a template, whose author can mend none of them, there are none. */
async function furtherErrors(path: string, text: string, findings: readonly FileFinding[]) {
  const [first] = findings;
  if (first?.kind !== "syntax" || !isYamlName(path) || helmActionIn(text) !== undefined) return [];
  const { yamlErrors } = await import("@bunting/files/yaml");
  return yamlErrors(text).filter(({ line, column }) => line !== first.line || column !== first.column);
}

/** By place. A warning at the place of an error says less than that, and nothing twice. */
function inOrder(findings: readonly FileFinding[]): readonly FileFinding[] {
  const place = ({ line, column }: FileFinding): string => `${line}:${column}`;
  const wrong = new Set(findings.filter(({ severity }) => severity === "error").map(place));
  return findings
    .filter(
      (finding) => finding.severity === "error" || finding.kind === "yaml-1.1" || !wrong.has(place(finding)),
    )
    .sort((a, b) => a.line - b.line || a.column - b.column);
}
