import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { isReady } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const attackers = 250;
const seconds = 10;

describe("a proxy whose status page is opened by hundreds who read nothing", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let client: StockSyncClient;
  const sockets: Socket[] = [];

  before(async () => {
    directory = new TempDirectory();
    for (let index = 0; index < 500; index++)
      directory.replace(`${index}.yaml`, manifest(`flags-${index}`, 1));
    proxy = await startProxy(directory.path, [
      "--drain-delay=0",
      "--drain-window=0",
      "--max-topics-per-connection=0",
    ]);
    await eventually(() => isReady(proxy.management), "it is ready");
    client = new StockSyncClient(proxy.sync);
    for (let index = 0; index < 500; index++) client.subscribe({ selector: `default/flags-${index}` });
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    client.close();
    const exitCode = await proxy.process.stop();
    directory.remove();
    expect(exitCode, proxy.process.output).to.equal(0);
  });

  async function attack(count: number): Promise<void> {
    const port = Number(new URL(proxy.management).port);
    for (let index = 0; index < count; index++) {
      const socket = createConnection(port, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.pause();
      socket.write("GET /status HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n");
      sockets.push(socket);
    }
  }

  it("answers probes and honest viewers, and has no more viewers than it may", async () => {
    await attack(attackers);
    for (let second = 0; second < seconds; second++) {
      // Each tick changes all that is shown.
      for (let index = 0; index < 50; index++)
        directory.replace(`${index}.yaml`, manifest(`flags-${index}`, second + 2));
      for (const path of ["/healthz", "/readyz", "/metrics", "/status"])
        expect((await fetch(proxy.management + path)).status, path).to.equal(200);
      await delay(1_000);
    }
    // The kernel would hold what so many leave unread: that they are let go is what bounds memory.
    const text = await firstEvent(`${proxy.management}/status`);
    expect(Number(/"viewers":(\d+)/.exec(text)?.[1])).to.be.within(1, 32);
    expect(text).to.contain('"total":500');
  });
});

/** What an honest viewer reads first. */
async function firstEvent(url: string): Promise<string> {
  const abort = new AbortController();
  const response = await fetch(url, { headers: { accept: "text/event-stream" }, signal: abort.signal });
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array);
    if (text.includes("event: limits")) break;
  }
  abort.abort();
  return text;
}
