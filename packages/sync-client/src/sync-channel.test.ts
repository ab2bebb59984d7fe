import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { SyncChannel } from "./sync-channel.js";

describe("a SyncChannel", () => {
  it("reaches an address of IPv4 in brackets, as one of IPv6 is written", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    try {
      await once(server, "listening");
      for (const before of ["", "dns:", "dns:///"]) {
        const { port } = server.address() as AddressInfo;
        const channel = new SyncChannel(`${before}[127.0.0.1]:${port}`, {});
        await new Promise<void>((resolve, reject) => {
          const done = (error?: Error): void => (error === undefined ? resolve() : reject(error));
          channel.client.waitForReady(Date.now() + 10_000, done);
        }).finally(() => channel.close());
      }
    } finally {
      server.close();
    }
  });
});
