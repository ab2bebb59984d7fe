let lastBytes = 0;

/** Resident memory of the process, in bytes. Node reads a file for it: without a descriptor to open one, it is as it was when it was last asked for. */
export function residentBytes(): number {
  try {
    lastBytes = process.memoryUsage.rss();
  } catch {
    // It is asked for by metrics and the status page, which are to say that there are no descriptors left.
  }
  return lastBytes;
}
