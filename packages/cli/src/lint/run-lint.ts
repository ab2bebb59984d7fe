import { plainTopicOf } from "@bunting/featureflags/manifests";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { extensionUrl } from "../extension/extension-url.js";
import { findFiles, type FoundFile } from "../input/find-files.js";
import { nameOf, readInputStart } from "../input/read-input.js";
import type { Io } from "../terminal/io.js";
import { plural } from "../terminal/plural.js";
import type { FileFinding } from "./file-finding.js";
import { lintOptionTable } from "./lint-options.js";
import type { NamedFlag } from "./lint-objects.js";
import { lintText, type LintedText } from "./lint-text.js";
import { printAnnotations, printFindings } from "./print-findings.js";
import { unknownFlags } from "./unknown-flags.js";

const defaultMaxDocumentBytes = lintOptionTable.maxDocument.default as number;

/** `bunting lint`; resolves with the exit code. */
export async function runLint({ options, words, io }: CommandCall<typeof lintOptionTable>): Promise<number> {
  if (words.length === 0)
    throw CliError.usageInvalid("name the files or directories to check, or - for the standard input");
  const maxDocumentBytes = options.maxDocument === "auto" ? defaultMaxDocumentBytes : options.maxDocument;
  for (const url of Object.values(options.extensions)) extensionUrl(url);
  const files = await findFiles(words, io.signal);
  const findings: FileFinding[] = [];
  const counts = { files: 0, documents: 0, flags: 0 };
  const sources = new Map<string, string>();
  const topics: string[] = [];
  const named: (NamedFlag & Pick<FileFinding, "file">)[] = [];
  for (const [index, file] of files.entries()) {
    io.signal.throwIfAborted();
    if (index % 20 === 0) io.progress(`${index} of ${files.length} files …`);
    const linted = await lintFile(file, { maxDocumentBytes, extensions: options.extensions }, io);
    const isAsked = (file.isNamed && !options.skipOthers) || options.source;
    if (linted.isForeign && !isAsked) continue;
    counts.files++;
    counts.documents += linted.documents;
    counts.flags += linted.flags;
    const others = options.source ? inSource(file, linted, sources) : [];
    // Not all in one call, which has no room for as many arguments.
    for (const finding of linted.findings.concat(others)) findings.push(finding);
    for (const { topic } of linted.topics) topics.push(topic);
    for (const one of linted.named) named.push({ ...one, file: nameOf(file.path) });
  }
  for (const remark of unknownFlags(named, topics)) findings.push(remark);
  io.progress("");
  return report({ options, io, findings, counts });
}

interface LintFileOptions {
  readonly maxDocumentBytes: number;
  readonly extensions: Readonly<Record<string, string>>;
}

async function lintFile(
  { path }: FoundFile,
  { maxDocumentBytes, extensions }: LintFileOptions,
  io: Io,
): Promise<LintedText> {
  const bytes = await readInputStart(path, io);
  const file = nameOf(path);
  const linted = await lintText(path, bytes, { maxDocumentBytes, name: file });
  if (Object.keys(extensions).length === 0) return linted;
  const { lintByExtensions } = await import("./lint-by-extensions.js");
  const found = await lintByExtensions(path, bytes.toString(), extensions, io.signal);
  const findings = [...linted.findings, ...found.map((finding) => ({ ...finding, file }))];
  return { ...linted, findings: findings.sort((a, b) => a.line - b.line || a.column - b.column) };
}

/** What is wrong with a file only as one of several of a directory that the proxy serves. `sources` are the topics that were found before. */
function inSource(
  { path }: FoundFile,
  { topics }: LintedText,
  sources: Map<string, string>,
): readonly FileFinding[] {
  const file = nameOf(path);
  return topics.flatMap(({ topic, line, column }): readonly FileFinding[] => {
    const plain = plainTopicOf(path);
    const at = { file, line, column, severity: "error" } as const;
    if ("problem" in plain && topic === "default/flags")
      return [{ ...at, kind: "manifest", message: plain.problem }];
    const first = sources.get(topic);
    if (first === undefined) sources.set(topic, `${file}:${line}`);
    if (first === undefined || first.startsWith(`${file}:`)) return [];
    const message = `${topic} is in ${first} already: the proxy serves only one of them`;
    return [{ ...at, kind: "duplicate", message }];
  });
}

interface Report {
  readonly options: CommandCall<typeof lintOptionTable>["options"];
  readonly io: Io;
  readonly findings: readonly FileFinding[];
  readonly counts: { readonly files: number; readonly documents: number; readonly flags: number };
}

function report({ options, io, findings, counts }: Report): number {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.filter(({ severity }) => severity === "warning").length;
  const remarks = findings.length - errors - warnings;
  if (options.json) io.print(JSON.stringify({ ...counts, errors, warnings, remarks, findings }, null, 2));
  else if (options.github) printAnnotations(findings, io);
  else printFindings(findings, io);
  const found =
    findings.length === 0
      ? "no findings"
      : [
          plural(errors, "error"),
          plural(warnings, "warning"),
          ...(remarks === 0 ? [] : [plural(remarks, "remark")]),
        ].join(", ");
  io.note(`${plural(counts.files, "file")}, ${plural(counts.flags, "flag")}: ${found}`);
  return errors > 0 || (warnings > 0 && options.failOn === "warning") ? 1 : 0;
}
