import { readdirSync } from "node:fs";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer } from "./support/hostile-peer.js";
import { Vitals } from "./support/vitals.js";

const connectionsAtOnce = 50;
const connections = 5_400;
/** What a session takes that has received nothing but SETTINGS. */
const sessionKibibytes = 6;

/** Node's native session and the SETTINGS frame that its peer has not acknowledged hold each other. */
describe("connections that close before they acknowledge SETTINGS", function () {
  this.timeout(240_000);
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;

  before(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path);
    vitals = new Vitals(proxy.process.pid);
  });

  after(async () => {
    vitals.stop();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  function descriptors(): number {
    return readdirSync(`/proc/${proxy.process.pid}/fd`).length;
  }

  async function openAndClose(connections: number): Promise<void> {
    const port = Number(proxy.sync.split(":")[1]);
    const before = descriptors();
    for (let opened = 0; opened < connections; opened += connectionsAtOnce) {
      const peers = await Promise.all(
        Array.from({ length: connectionsAtOnce }, () =>
          HostilePeer.connect(port, { acknowledges: false, localAddress: "127.0.0.2" }),
        ),
      );
      await eventually(() => peers.every(({ socket }) => socket.bytesRead > 0), "the proxy's SETTINGS");
      for (const peer of peers) peer.destroy();
      await eventually(() => descriptors() < before + connectionsAtOnce / 2, "the end of the connections");
    }
  }

  it("leave nothing behind", async () => {
    await openAndClose(1_000);
    vitals.markWarm();
    await openAndClose(connections);
    vitals.expectGrowth({ below: 20, attack: (connections * sessionKibibytes) / 1024 });
  });
});
