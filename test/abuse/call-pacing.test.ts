import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";

const path = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const message = syncV1.FetchAllFlagsRequest.encode({ providerId: "", selector: "default/guess" }).finish();
const headers = { "grpc-timeout": "1m" };
const calls = 12_000;

describe("Connections that make nothing but short calls", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  const peers: HostilePeer[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, ["--drain-delay=0s", "--drain-window=0s"]);
  });

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.destroy();
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  const metric = (series: string): Promise<number> => readMetric(proxy.management, series);

  it("wait for their turn, and nothing more is read from them; a healthy client's stream begins at once", async () => {
    const port = Number(proxy.sync.split(":")[1]);
    for (let index = 0; index < 4; index++) {
      const peer = await HostilePeer.connect(port, { localAddress: `127.0.0.${2 + index}` });
      peers.push(peer);
    }
    const flood = async (peer: HostilePeer): Promise<void> => {
      for (let sent = 0; sent < calls / peers.length && !peer.isClosed; sent += 50) {
        const requests = Array.from({ length: 50 }, () =>
          requestFrames(peer.takeStreamId(), path, { headers, message }),
        );
        await peer.send(Buffer.concat(requests));
      }
    };
    const floods = Promise.all(peers.map(flood));
    await eventually(
      async () => (await metric("bunting_proxy_service_calls_waiting")) > 0,
      "hostile calls to wait",
    );
    const healthy = new StockSyncClient(proxy.sync);
    const before = await metric("bunting_proxy_service_calls_delayed_total");
    const { text } = await healthy.subscribe({ selector: "default/flags" }).messages.nextEvent("the flags");
    expect(versionOf(text)).to.equal(1);
    healthy.close();
    expect(before).to.be.greaterThan(0);
    // A socket's read of 64 KB has some hundred such calls; what has not been read is not known to the proxy.
    expect(await metric("bunting_proxy_service_calls_waiting")).to.be.lessThan(peers.length * 1_000);
    await floods;
    expect(
      peers.some((peer) => peer.isClosed),
      "none is ended for it",
    ).to.equal(false);
    const lines = proxy.process.logs.filter(({ msg }) => msg.includes("short calls"));
    expect(lines.length).to.be.at.most(1);
  });
});
