import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { fetchStatus } from "./read-status.js";

describe("reading the status of a proxy", () => {
  it("ends after the time given where nothing answers, also if garbage is collected meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const stop = new AbortController();
    try {
      const server = { address: { host: "127.0.0.1", port } };
      const reading = fetchStatus({ name: "it", server }, 300, stop.signal).catch((error: unknown) => error);
      await once(silent, "connection");
      collectGarbage();
      const error = await Promise.race([reading, once(AbortSignal.timeout(5_000), "abort")]);
      expect((error as Error).message).to.equal(
        "it can't be reached: no answer came within 0.3 s. Forward its management port, or name it with --address",
      );
    } finally {
      stop.abort();
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
});
