import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const taken = new Set<number>();

/**
 * A free port of 127.0.0.1, below the range that the kernel gives to outgoing connections: a client that tries to reach a server which is
 * being restarted could otherwise be given the server's own port, and keep it from starting.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(18_000, 32_000);
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
  throw new Error("no free port between 18000 and 32000");
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
