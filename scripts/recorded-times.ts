import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);

/** Seconds by file of tests, as `packages/kube/src/a.test.ts`. */
export type FileSeconds = ReadonlyMap<string, number>;

/** Committed, so that a clean checkout knows them; `npm run record-times` and `npm test -- --record-times` write it. */
export const durationsFile = path.join(root, "test/durations.json");

/** What a run is to append its times to; see `appendTimes`. */
export const timesVariable = "BUNTING_TEST_TIMES";

/** Of a file that has never been recorded: more than most take, since a new file is rather a slow one that nobody knows yet. */
const unknownSeconds = 2;

/** How long each file took when it was last recorded. Walls on some machine: good for comparing files, and for nothing else. */
export function readDurations(file: string = durationsFile): FileSeconds {
  if (!existsSync(file)) return new Map();
  return new Map(Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, number>));
}

export function secondsOf(durations: FileSeconds, file: string): number {
  return durations.get(file) ?? unknownSeconds;
}

/** Sorted by file, so that two branches which record meet in few lines. */
export function writeDurations(durations: FileSeconds, file: string = durationsFile): void {
  const sorted = [...durations].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

/** What was recorded with what was measured in its place, without the files that are gone. */
export function mergedDurations(
  recorded: FileSeconds,
  measured: FileSeconds,
  isThere: (file: string) => boolean = (file) => existsSync(path.join(root, file)),
): FileSeconds {
  const merged = new Map([...recorded, ...[...measured].map(([file, s]) => [file, rounded(s)] as const)]);
  return new Map([...merged].filter(([file]) => isThere(file)));
}

/** Small differences between two runs say nothing, and are not to change a line. */
function rounded(seconds: number): number {
  return seconds < 10 ? Math.max(0.1, Math.round(seconds * 10) / 10) : Math.round(seconds);
}

/** Lines, because several mochas append at once. */
export function timesAsLines(times: FileSeconds): string {
  return [...times].map(([file, seconds]) => `${JSON.stringify({ file, seconds })}\n`).join("");
}

/** What runs have appended to `file`; of a file that ran several times, the longest. */
export function readTimes(file: string): FileSeconds {
  const times = new Map<string, number>();
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { file: test, seconds } = JSON.parse(line) as { readonly file: string; readonly seconds: number };
    times.set(test, Math.max(seconds, times.get(test) ?? 0));
  }
  return times;
}
