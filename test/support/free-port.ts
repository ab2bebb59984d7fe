import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { ownSlot, sliceOf } from "./port-slice.js";

/** Those given out last: whoever has one may not listen yet, or not for a while, and clients of an earlier test may still ask for it. */
const taken = new Set<number>();
/** Most of a slice, of which the tests of a run draw more than it has. */
const mostTaken = 700;

/**
 * A free port of 127.0.0.1, from the slice of this run: two that run at once would otherwise draw the same one before either listens on it. Servers
 * that go down and come back on their port take one of these: one from the kernel (port 0) may be given to a client meanwhile.
 */
export async function freePort(): Promise<number> {
  const { low, high } = sliceOf(ownSlot());
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(low, high);
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    if (taken.size > mostTaken) taken.delete(taken.values().next().value ?? port);
    return port;
  }
  throw new Error(`no free port from ${low} to ${high - 1}`);
}

/** True if nothing listens on the port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
