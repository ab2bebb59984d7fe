import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { ownSlot, sliceOf } from "./port-slice.js";

const taken = new Set<number>();

/** A free port of 127.0.0.1, from the slice of this run: two that run at once would otherwise draw the same one before either listens on it. */
export async function freePort(): Promise<number> {
  const { low, high } = sliceOf(ownSlot());
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(low, high);
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
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
