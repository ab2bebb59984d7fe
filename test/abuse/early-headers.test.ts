import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer } from "./support/hostile-peer.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const headers = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, "x".repeat(30 * 1024)]));
const headerBytes = 4 * 30 * 1024;

describe("Headers that are sent before SETTINGS are acknowledged", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  const peers: HostilePeer[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path);
    vitals = new Vitals(proxy.process.pid);
  });
  afterEach(async () => {
    vitals.stop();
    for (const peer of peers.splice(0)) peer.destroy();
    await proxy.process.stop();
    directory.remove();
  });

  async function attack(streamCount: number): Promise<void> {
    const peer = await HostilePeer.connect(Number(proxy.sync.split(":")[1]), { acknowledges: false });
    peers.push(peer);
    for (let index = 0; index < streamCount && !peer.isClosed; index++)
      await peer.request("/flagd.sync.v1.FlagSyncService/SyncFlags", { headers, endsStream: false });
    await eventually(() => peer.isClosed || peer.goaway !== undefined, "the connection to be ended");
  }

  it("are refused beyond the limit, and not held", async () => {
    await attack(100);
    vitals.markWarm();
    await attack(900);
    vitals.expectGrowth({ below: 64, attack: (900 * headerBytes) / mebibyte });
  });
});
