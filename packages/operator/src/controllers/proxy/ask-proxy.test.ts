import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { askProxy } from "./ask-proxy.js";

describe("askProxy", () => {
  it("gives up a proxy that does not answer in time, also if garbage is collected meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const stop = new AbortController();
    try {
      const page = { host: "127.0.0.1", port, path: "/metrics" };
      const asking = askProxy(page, stop.signal, 300).catch((error: unknown) => error);
      await once(silent, "connection");
      collectGarbage();
      expect(await asking).to.have.property("name", "AbortError");
    } finally {
      stop.abort();
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
});
