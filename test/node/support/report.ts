import type { PeakUsage } from "./container-usage.js";

const mebibyte = 1024 * 1024;

/** Prints what was measured: docs/benchmarks.md has these figures. */
export function report(what: string, usage: PeakUsage): void {
  const { usageBytes, workingSetBytes, rssBytes, kernelBytes, activeFileBytes, limitBytes, cores } = usage;
  const [workingSet, charged, rss, kernel, active, limit] = [
    workingSetBytes,
    usageBytes,
    rssBytes,
    kernelBytes,
    activeFileBytes,
    limitBytes,
  ].map((bytes) => (bytes / mebibyte).toFixed(1));
  console.log(
    `      ${what}: working set ${workingSet} MiB, charged ${charged}, without page cache ${rss}, kernel ${kernel}, active page cache ${active}, limit ${limit}; ${cores.toFixed(3)} cores`,
  );
}
