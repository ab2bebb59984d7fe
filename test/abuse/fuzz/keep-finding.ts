import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { formatCases, type FuzzCase } from "./fuzz-case.js";

const folder = path.resolve(import.meta.dirname, "../../../.bunting/fuzz");

/** Writes the cases of a finding into a file, and returns a sentence that says how to repeat it. */
export function keepFinding(seed: number, cases: readonly FuzzCase[]): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `seed-${seed}.json`);
  const text = formatCases(cases);
  writeFileSync(file, text);
  const shown = cases.length === 1 ? text.slice(0, 3_000) : `${cases.length} cases`;
  return `Repeat it with \`npm run fuzz -- --replay ${path.relative(process.cwd(), file)}\`: ${shown}`;
}
