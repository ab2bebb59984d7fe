import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  isMet,
  type BenchCase,
  type CaseOutcome,
  type ResultTable,
  type Target,
} from "./support/bench-case.js";
import { rowsInShort } from "./in-short.js";
import { rootFolder } from "./support/bundle.js";
import { digits } from "./support/format.js";
import type { Machine } from "./support/machine.js";

/** Writes the kept results into docs/benchmarks.md, each between the markers of its case; the text around them stays. */

export type CaseResult = CaseOutcome & {
  readonly case: string;
  readonly date: string;
  readonly machine: Machine;
};

const docsFile = path.join(rootFolder, "docs/benchmarks.md");

export function resultFile(name: string): string {
  return path.join(rootFolder, "bench/results", `${name}.json`);
}

export function renderDocs(cases: readonly BenchCase[]): void {
  let text = readFileSync(docsFile, "utf8");
  for (const { name, method } of cases) {
    if (!existsSync(resultFile(name))) continue;
    text = between(text, name, renderCase(resultOf(name), method));
  }
  text = between(text, "in-short", renderRows(rowsInShort(resultOf)));
  writeFileSync(docsFile, text);
}

function resultOf(name: string): CaseResult {
  return JSON.parse(readFileSync(resultFile(name), "utf8")) as CaseResult;
}

function between(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md needs the lines ${begin} and ${end}`);
  return `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`;
}

function renderCase(result: CaseResult, method: string): string {
  const { date, machine, setup, tables, targets, warnings, invalid } = result;
  const where = `${machine.cores} ${machine.cores === 1 ? "core" : "cores"} of ${machine.processor}, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node.slice(1)}`;
  return [
    method,
    `Measured ${date.slice(0, 10)} on ${where}: ${setup.join("; ")}.`,
    ...invalid.map((reason) => `**This run does not count:** ${reason}.`),
    ...warnings.map((warning) => `Note: ${warning}.`),
    ...tables.map(renderTable),
    ...(targets.length > 0 ? [renderTargets(targets)] : []),
  ].join("\n\n");
}

function renderTable({ title, columns, rows }: ResultTable): string {
  return `**${title}**\n\n${renderRows([columns, columns.map(() => "---"), ...rows])}`;
}

function renderTargets(targets: readonly Target[]): string {
  const rows = targets.map((target) => [
    target.what,
    `≤ ${target.limit} ${target.unit}`,
    `${digits(target.measured)} ${target.unit}`,
    isMet(target) ? "met" : "**missed**",
  ]);
  return renderRows([["target", "limit", "measured", ""], ["---", "---", "---", "---"], ...rows]);
}

function renderRows(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
