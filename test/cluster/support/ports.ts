import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const taken = new Set<number>();

/**
 * A port of 127.0.0.1 that nobody listens on. From below the range that the kernel gives to outgoing connections: whoever tries to
 * reach a server that is being restarted could otherwise be given the server's own port, and keep it from coming back.
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
