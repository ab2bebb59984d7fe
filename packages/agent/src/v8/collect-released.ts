import { collectGarbage, onNextTurn } from "@bunting/runtime";

/** What may have been released since the last collection: a part of what a container of 64 MiB has beside the heap. */
const everyBytes = 6 * 1024 * 1024;
/** Bytes that may be released in one turn of the event loop until they are collected within the turn. */
const everyBytesInTurn = 2 * everyBytes;

let releasedBytes = 0;
let isDue = false;

/**
 * Counts bytes outside of V8's heap that are garbage now, or will be soon: bodies, connections, documents and what is made of them. V8 does not
 * collect for them before tens of megabytes have accumulated, so it is told to once there are some. Does nothing without --expose-gc, which the
 * image's entrypoint sets. Ordinary requests leave nothing that counts.
 */
export function countReleased(bytes: number): void {
  releasedBytes += bytes;
  if (releasedBytes >= everyBytesInTurn) collect();
  if (isDue || releasedBytes < everyBytes) return;
  isDue = true;
  // Later: the caller often still uses the bytes that it has released.
  onNextTurn(() => {
    isDue = false;
    if (releasedBytes >= everyBytes) collect();
  });
}

function collect(): void {
  releasedBytes = 0;
  collectGarbage("all");
}
