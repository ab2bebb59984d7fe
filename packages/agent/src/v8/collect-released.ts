import type { PeerMemory } from "@bunting/server";

/** What may have been released since the last collection: a part of what a container of 64 MiB has beside the heap. */
const everyBytes = 6 * 1024 * 1024;

/**
 * Collects once requests and connections have left much behind. Bodies are outside of V8's heap, and V8 does not collect for them before tens of
 * megabytes have accumulated. Does nothing without --expose-gc, which the image's entrypoint sets. Ordinary requests leave nothing that
 * counts.
 */
export function collectReleased(memory: PeerMemory): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  memory.onReleased(everyBytes, () => {
    gc();
  });
}
