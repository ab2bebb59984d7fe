import type { CorePlan } from "./processor.js";

/** A benchmark case. */
export interface BenchCase {
  readonly name: string;
  /** One paragraph for docs/benchmarks.md: what is measured and how. */
  readonly method: string;
  run(options: RunOptions): Promise<CaseOutcome>;
}

export interface RunOptions {
  /** Use small numbers, to check that everything runs and converges; the times mean nothing then. */
  readonly isQuick: boolean;
  /** The case's own `--name=value` arguments. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly cores: CorePlan;
  readonly progress: (line: string) => void;
}

export interface CaseOutcome {
  /** What was run, in words: how many, how large, on which cores. */
  readonly setup: readonly string[];
  readonly tables: readonly ResultTable[];
  readonly targets: readonly Target[];
  /** What a reader must know before believing the numbers; for instance that the client was the limit. */
  readonly warnings: readonly string[];
  /** Reasons why this run does not count. The numbers are kept, marked, and the run fails. */
  readonly invalid: readonly string[];
  /** Every single measurement. */
  readonly samples: unknown;
}

export interface ResultTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Target {
  readonly what: string;
  readonly limit: number;
  readonly measured: number;
  readonly unit: string;
}

/** All targets here are upper bounds. What could not be measured, which a kept result has as null, is missed. */
export function isMet({ limit, measured }: Target): boolean {
  return Number.isFinite(measured) && measured <= limit;
}
