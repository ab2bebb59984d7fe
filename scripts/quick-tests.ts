/** What the quick tests of one folder may take one after the other, by their recorded times, in seconds. At once it is about half. */
const mostSeconds = 16;

/** The tests of `npm test -- --fast`, and those that it leaves out. */
export interface QuickTests {
  readonly files: readonly string[];
  readonly leftOut: readonly string[];
}

/**
 * Of each package, and of each folder of test/, the quickest files: as many as may take 16 s together. A package whose tests are all quick
 * keeps all of them.
 */
export function quickTests(files: readonly string[], secondsOf: (file: string) => number): QuickTests {
  const spent = new Map<string, number>();
  const chosen = new Set<string>();
  for (const file of [...files].sort((a, b) => secondsOf(a) - secondsOf(b) || (a < b ? -1 : 1))) {
    const folder = file.split("/").slice(0, 2).join("/");
    const seconds = (spent.get(folder) ?? 0) + secondsOf(file);
    if (seconds > mostSeconds) continue;
    spent.set(folder, seconds);
    chosen.add(file);
  }
  return {
    files: files.filter((file) => chosen.has(file)),
    leftOut: files.filter((file) => !chosen.has(file)),
  };
}
