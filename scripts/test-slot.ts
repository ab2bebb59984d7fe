import { once } from "node:events";
import { createServer } from "node:net";
import { slotCount } from "../test/support/port-slice.js";

/** The first of as many ports as there are slots, below all that tests choose. */
const firstLock = 17_816;

/** A number that no other run of mocha on this machine has, whichever checkout it is of: test/support/port-slice.ts gives it ports of its own. */
export interface TestSlot {
  readonly slot: number;
  release(): void;
}

/**
 * Takes a slot, or none if all are taken: such a run shares the last slice of ports. Taking is listening on a port, which ends with the
 * process however it ends.
 */
export async function takeSlot(lockPort: number = firstLock): Promise<TestSlot | undefined> {
  for (let slot = 0; slot < slotCount; slot++) {
    const lock = createServer().unref();
    lock.listen(lockPort + slot, "127.0.0.1");
    try {
      await once(lock, "listening");
      return { slot, release: () => void lock.close() };
    } catch {
      // Another run has it.
    }
  }
  return undefined;
}
