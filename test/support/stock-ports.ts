import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { eventually } from "./event-queue.js";

/** Not used by anything of ours; below all ports that tests and the kernel choose (port-slice.ts). */
const lockPort = 17_815;
/** Longer than the tests of another run take, all together. */
const patienceMs = 150_000;

/**
 * Holds the ports 8013 to 8016 for the tests of a suite, which start binaries with the stock operator's command lines: another test run on this
 * machine waits for its turn. Holding is listening on one more port, which ends with the process however it ends.
 */
export function holdStockPorts(): void {
  let lock: Server;
  before("waits for the ports of the stock operator", async function () {
    this.timeout(patienceMs + 10_000);
    await eventually(
      async () => {
        lock = createServer().unref();
        return isListening(lock);
      },
      "another test run to release the ports of the stock operator",
      patienceMs,
    );
  });
  after(() => lock.close());
}

async function isListening(server: Server): Promise<boolean> {
  server.listen(lockPort, "127.0.0.1");
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
}
