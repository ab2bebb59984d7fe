import type { FuzzCase } from "./fuzz-case.js";
import { performCase } from "./perform-case.js";
import { randomCase } from "./random-case.js";
import { Random } from "../../../bench/fixtures/random.js";
import { Subjects, type Holdings } from "./subjects.js";

export interface FuzzOptions {
  readonly seed: number;
  /** How long cases are made; starting and the check for leaks come on top. */
  readonly seconds: number;
}

/** What was found, and the last cases before it. */
export interface FuzzFinding {
  readonly reason: string;
  readonly cases: readonly FuzzCase[];
}

export interface FuzzResult {
  readonly cases: number;
  readonly finding: FuzzFinding | undefined;
}

const batchSize = 24;
/** The first batches load code and fill caches; what they leave does not count as a leak. */
const warmUpBatches = 6;
/** Effects can come later than their cause: a file is read after 25 ms. */
const keptBatches = 4;
const batchesBetweenEdits = 5;
const maxGrowthMb = { proxy: 48, agent: 40 };
const releasePatienceMs = 12_000;

/** Runs random cases against fresh processes until the time is over or something is found. */
export async function fuzz({ seed, seconds }: FuzzOptions): Promise<FuzzResult> {
  const subjects = await Subjects.start();
  const recent: FuzzCase[][] = [];
  const untilMs = performance.now() + seconds * 1000;
  let cases = 0;
  let idle: Record<"proxy" | "agent", Holdings> | undefined;
  try {
    for (let batch = 0; performance.now() < untilMs || batch <= warmUpBatches; batch++) {
      if (batch === warmUpBatches)
        idle = { proxy: subjects.holdings("proxy"), agent: subjects.holdings("agent") };
      const current = Array.from({ length: batchSize }, () => caseAt(seed, cases++));
      recent.push(current);
      if (recent.length > keptBatches) recent.shift();
      await performAll(current, subjects, batch % batchesBetweenEdits === 0);
    }
    await subjects.assertHonestServed();
    for (const name of ["proxy", "agent"] as const) {
      if (idle !== undefined)
        await subjects.assertReleased(name, idle[name], maxGrowthMb[name], releasePatienceMs);
    }
    return { cases, finding: undefined };
  } catch (error) {
    return { cases, finding: { reason: (error as Error).message, cases: recent.flat() } };
  } finally {
    await subjects.stop();
  }
}

/** Performs cases against fresh processes; returns what was found. */
export async function replay(cases: readonly FuzzCase[]): Promise<string | undefined> {
  const subjects = await Subjects.start();
  try {
    for (let at = 0; at < cases.length; at += batchSize) {
      await performAll(cases.slice(at, at + batchSize), subjects, true);
    }
    // Two edits: the second is made once what the cases have written to files has been read.
    await subjects.assertHonestServed();
    subjects.assertWell();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await subjects.stop();
  }
}

/** The single case that is enough for a finding, if one is; else all of them. */
export async function shrink(
  cases: readonly FuzzCase[],
  onTry: (left: number) => void,
): Promise<readonly FuzzCase[]> {
  for (const [index, fuzzCase] of [...cases].reverse().entries()) {
    onTry(cases.length - index);
    if ((await replay([fuzzCase])) !== undefined) return [fuzzCase];
  }
  return cases;
}

function caseAt(seed: number, index: number): FuzzCase {
  return randomCase(new Random(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)));
}

async function performAll(cases: readonly FuzzCase[], subjects: Subjects, edits: boolean): Promise<void> {
  const results = await Promise.allSettled(cases.map((each) => performCase(each, subjects)));
  // Whether a process has died says more than the answers that did not come.
  subjects.assertWell();
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason as Error;
  if (edits) await subjects.assertHonestServed();
  subjects.assertWell();
}
