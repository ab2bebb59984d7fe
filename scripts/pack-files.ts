/**
 * Divides files over `count` runs that take about as long as each other: the longest first, each to the run that has least to do so far. No
 * run is empty unless there are fewer files than runs, and none starts with a file that would have been better started earlier.
 */
export function packFiles(
  files: readonly string[],
  secondsOf: (file: string) => number,
  count: number,
): readonly (readonly string[])[] {
  const runs = Array.from({ length: Math.min(count, files.length) }, () => ({
    files: [] as string[],
    seconds: 0,
  }));
  // By name where times are equal, so that every run of the same files is packed the same way.
  const longestFirst = [...files].sort((a, b) => secondsOf(b) - secondsOf(a) || (a < b ? -1 : 1));
  for (const file of longestFirst) {
    const run = runs.reduce((least, each) => (each.seconds < least.seconds ? each : least));
    run.files.push(file);
    run.seconds += secondsOf(file);
  }
  return runs.map((run) => run.files);
}
