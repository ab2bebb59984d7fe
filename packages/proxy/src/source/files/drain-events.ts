import { setImmediate } from "node:timers/promises";

/**
 * Resolves once every file system event that lay in the kernel's queue at the time of the call has been handed to its listener: the
 * first turn of the event loop ends the poll that may be under way, the second holds a whole one, which empties the queue.
 */
export async function drainEvents(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
