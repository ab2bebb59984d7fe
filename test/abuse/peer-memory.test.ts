import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const path = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const selecting = syncV1.SyncFlagsRequest.encode({ providerId: "", selector: "default/flags" }).finish();
const healthyCount = 20;
const headerBytes = 12_000;

describe("The memory that peers make a proxy hold", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals | undefined;
  const peers: HostilePeer[] = [];
  const healthy: { readonly client: StockSyncClient; readonly subscription: SyncSubscription }[] = [];

  const start = async (...args: readonly string[]): Promise<void> => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, args);
    for (let index = 0; index < healthyCount; index++) {
      const client = new StockSyncClient(proxy.sync);
      const subscription = client.subscribe({ selector: "default/flags" });
      healthy.push({ client, subscription });
      await subscription.messages.nextEvent("the first flags");
    }
    vitals = new Vitals(proxy.process.pid);
  };
  const attack = async (localAddress: string): Promise<HostilePeer> => {
    const port = Number(proxy.sync.split(":")[1]);
    const peer = await HostilePeer.connect(port, { localAddress });
    peers.push(peer);
    return peer;
  };
  const expectHealthy = async (): Promise<void> => {
    directory.replace("flags.yaml", manifest("flags", 2));
    for (const { subscription } of healthy) {
      const { text } = await subscription.messages.nextEvent("the edit");
      expect(versionOf(text)).to.equal(2);
    }
  };
  const metric = (series: string): Promise<number> => readMetric(proxy.management, series);

  afterEach(async () => {
    vitals?.stop();
    for (const peer of peers.splice(0)) peer.destroy();
    for (const { client } of healthy.splice(0)) client.close();
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  it("is bounded for one connection with thousands of streams, which is ended", async () => {
    await start("--peer-memory=32Mi", "--drain-delay=0s", "--drain-window=0s");
    const headers = { large: "x".repeat(headerBytes) };
    const attackingStreams = 9_000;
    for (const streams of [1_500, attackingStreams]) {
      vitals?.markWarm();
      const peer = await attack("127.0.0.2");
      for (let index = 0; index < streams && !peer.isClosed; index++)
        await peer.request(path, { headers, message: selecting, endsStream: false });
      await eventually(() => peer.isClosed, "the connection to be ended");
    }
    vitals?.expectGrowth({ below: 64, attack: (attackingStreams * headerBytes) / mebibyte });
    expect(await metric('bunting_proxy_service_connections_ended_total{reason="memory"}')).to.equal(2);
    await eventually(
      async () => (await metric("bunting_proxy_service_peer_memory_bytes")) < 2 * mebibyte,
      "the memory to be free again",
    );
    await expectHealthy();
  });

  it("is bounded for hundreds of connections from as many addresses, of which the greediest are ended", async () => {
    await start("--peer-memory=32Mi", "--drain-delay=0s", "--drain-window=0s");
    const headers = { large: "x".repeat(headerBytes) };
    const [connections, warmUp, streamsEach] = [200, 50, 74];
    for (let index = 0; index < connections; index++) {
      if (index === warmUp) vitals?.markWarm();
      const peer = await attack(`127.0.1.${index + 1}`);
      const requests = Array.from({ length: streamsEach }, () =>
        requestFrames(peer.takeStreamId(), path, { headers, message: selecting, endsStream: false }),
      );
      await peer.send(Buffer.concat(requests));
    }
    await eventually(() => peers.some((peer) => peer.isClosed), "some to be ended");
    // Mostly garbage of headers; the metric says what is held.
    const attackBytes = (connections - warmUp) * streamsEach * headerBytes;
    vitals?.expectGrowth({ below: 84, attack: attackBytes / mebibyte });
    expect(await metric("bunting_proxy_service_peer_memory_bytes")).to.be.at.most(32 * mebibyte);
    await expectHealthy();
  });

  it("is given up by idle connections for new ones, and no other is ended", async () => {
    await start("--peer-memory=4Mi", "--drain-delay=0s", "--drain-window=0s");
    for (let index = 0; index < 200; index++) await attack("127.0.0.2");
    const late = new StockSyncClient(proxy.sync);
    await late.subscribe({ selector: "default/flags" }).messages.nextEvent("flags");
    late.close();
    await expectHealthy();
  });
});
