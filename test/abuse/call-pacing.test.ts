import { createProxy, proxyOptionTable } from "@bunting/proxy";
import { syncV1 } from "@bunting/protocol";
import { createLogger, readOptions, systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { readMetric } from "../support/read-metric.js";
import type { LogLine } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";

const path = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const message = syncV1.FetchAllFlagsRequest.encode({ providerId: "", selector: "default/guess" }).finish();
const headers = { "grpc-timeout": "1m" };
const peerCount = 4;
const callsPerPeer = 800;
/** 1,000 of all connections, and 64 of each. */
const callsAtOnce = 1_000 + peerCount * 64;

/** Stands still until it is let go, so that no call is paid for meanwhile, however slow the machine is. Timers fire. */
class HeldClock implements Clock {
  #heldMs: number | undefined = systemClock.monotonicMs();

  now(): number {
    return systemClock.now();
  }

  after(delayMs: number, callback: () => void): () => void {
    return systemClock.after(delayMs, callback);
  }

  monotonicMs(): number {
    return this.#heldMs ?? systemClock.monotonicMs();
  }

  release(): void {
    this.#heldMs = undefined;
  }
}

/** In this process, for its clock. */
describe("Connections that make nothing but short calls", () => {
  const clock = new HeldClock();
  const logs: LogLine[] = [];
  const peers: HostilePeer[] = [];
  let directory: TempDirectory;
  let stop: AbortController;
  let stopped: Promise<void>;

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    const argv = ["--source", `dir:${directory.path}`, "--host=127.0.0.1", "--port=0"];
    argv.push("--management-port=0", "--drain-delay=0s", "--drain-window=0s");
    const { options } = await readOptions(proxyOptionTable, { argv, env: {} });
    const write = (line: string): void => void logs.push(JSON.parse(line) as LogLine);
    const proxy = createProxy(options, createLogger({ format: "json", debug: false }, { write }), clock);
    stop = new AbortController();
    stopped = proxy.run(stop.signal);
    await eventually(() => logs.filter(({ msg }) => msg === "listening").length === 2, "both ports");
  });

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.destroy();
    clock.release();
    stop.abort();
    await stopped;
    directory.remove();
  });

  const portOf = (service: string): number =>
    logs.find((line) => line.msg === "listening" && line["service"] === service)?.["port"] as number;
  const metric = (series: string): Promise<number> =>
    readMetric(`http://127.0.0.1:${portOf("management")}`, series);

  it("wait for their turn, and nothing more is read from them; a healthy client's stream begins at once", async () => {
    for (let index = 0; index < peerCount; index++) {
      const localAddress = `127.0.0.${2 + index}`;
      const peer = await HostilePeer.connect(portOf("sync"), { localAddress });
      peers.push(peer);
    }
    const floods = peers.map(async (peer) => {
      for (let sent = 0; sent < callsPerPeer; sent += 50) {
        const requests = Array.from({ length: 50 }, () =>
          requestFrames(peer.takeStreamId(), path, { headers, message }),
        );
        await peer.send(Buffer.concat(requests));
      }
    });
    const ended = (): number => peers.reduce((sum, peer) => sum + peer.ended.size, 0);
    await eventually(() => ended() >= callsAtOnce, "the calls that begin at once");
    await Promise.all(floods);
    expect(await metric("bunting_proxy_service_calls_waiting"), "calls that wait").to.be.greaterThan(0);
    // What has not been read is not known to the proxy.
    expect(await metric("bunting_proxy_service_calls_delayed_total")).to.be.lessThan(
      peerCount * callsPerPeer - callsAtOnce,
    );
    clock.release();
    const healthy = new StockSyncClient(`127.0.0.1:${portOf("sync")}`);
    const { text } = await healthy.subscribe({ selector: "default/flags" }).messages.nextEvent("the flags");
    expect(versionOf(text)).to.equal(1);
    healthy.close();
    await eventually(() => ended() === peerCount * callsPerPeer, "the end of all calls");
    expect(
      peers.some((peer) => peer.isClosed),
      "none is ended for it",
    ).to.equal(false);
    // One a minute, which may pass on a busy machine.
    expect(logs.filter(({ msg }) => msg.includes("short calls"))).to.have.length.within(1, 2);
  });
});
