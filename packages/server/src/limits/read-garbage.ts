import { collectGarbage } from "@bunting/runtime";

/** About what a container of 64 MiB has to spare. */
const everyBytes = 4 * 1024 * 1024;

let readBytes = 0;

/**
 * Counts bytes that were read from a socket. Node reads each chunk into a buffer of its own outside of V8's heap, and V8 lets tens of megabytes of
 * them accumulate if little else is allocated. So young garbage is collected now and then, which takes about a millisecond: ordinary requests make
 * V8 do so a hundred times meanwhile. Does nothing without --expose-gc, which the images set.
 */
export function countRead(bytes: number): void {
  readBytes += bytes;
  if (readBytes < everyBytes) return;
  readBytes = 0;
  collectGarbage("young");
}
