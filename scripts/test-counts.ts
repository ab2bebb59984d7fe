import { appendFileSync, readFileSync } from "node:fs";

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The line that CI reads. */
export function summaryLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Where several runs make up one result, as in .ci/run, BUNTING_TEST_COUNTS names the file that each appends its counts to. */
export function recordCounts(counts: TestCounts): void {
  const file = process.env["BUNTING_TEST_COUNTS"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(counts)}\n`);
}

/** The sum of what the runs have appended to `file`. */
export function totalOf(file: string): TestCounts {
  const runs = readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as TestCounts);
  const sum = (count: keyof TestCounts): number => runs.reduce((total, run) => total + run[count], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}
