import { expect } from "chai";
import { frame, frameFlag, frameType } from "../../bench/load/http2-frames.js";
import { isReady } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";
import { collectsOften } from "./support/collects-often.js";
import { HostilePeer, literalHeader, requestFrames } from "./support/hostile-peer.js";

const selector = Buffer.concat([Buffer.of(0x12, 13), Buffer.from("default/flags")]);
const syncFlags = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const trailer = literalHeader("x-trailer", "y");

/** A FeatureFlag of a megabyte. */
const manifest = JSON.stringify({
  apiVersion: "core.openfeature.dev/v1beta1",
  kind: "FeatureFlag",
  metadata: { name: "flags" },
  spec: {
    flagSpec: {
      flags: { big: { state: "ENABLED", variants: { on: "x".repeat(1_000_000) }, defaultVariant: "on" } },
    },
  },
});

/** Node aborts when it collects a session before a stream that holds headers of it. */
describe("sessions that are collected", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let port: number;
  const peers: HostilePeer[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.json", manifest);
    proxy = await startProxy(directory.path, ["--stall-timeout", "1s"], { NODE_OPTIONS: collectsOften });
    port = Number(proxy.sync.split(":")[1]);
    await eventually(() => isReady(proxy.management), "/readyz");
  });

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  /** Addresses in turn, or that of one peer would be refused. */
  async function connect(options: Parameters<typeof HostilePeer.connect>[1] = {}): Promise<HostilePeer> {
    const localAddress = `127.0.1.${1 + (peers.length % 10)}`;
    const peer = await HostilePeer.connect(port, { localAddress, ...options });
    peers.push(peer);
    return peer;
  }

  async function isWell(): Promise<void> {
    expect(await isReady(proxy.management)).to.equal(true);
    expect(proxy.process.words.join("\n")).not.to.match(/Assertion failed/);
  }

  it("while streams wait to be freed whose trailers were refused", async () => {
    for (let round = 0; round < 3; round++) {
      const invalid = await Promise.all(Array.from({ length: 10 }, () => connect()));
      for (const peer of invalid) {
        const frames = Array.from({ length: 20 }, (_, index) => {
          const streamId = peer.takeStreamId();
          const headers = { "content-length": index % 2 === 0 ? "100000" : "5" };
          return Buffer.concat([
            requestFrames(streamId, syncFlags, { headers, message: selector, endsStream: false }),
            frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, streamId, trailer),
          ]);
        });
        await peer.send(Buffer.concat(frames));
      }
      await eventually(() => invalid.every((peer) => peer.isClosed || peer.resets.size > 0), "resets");
      for (const peer of invalid) peer.destroy();
    }
    await isWell();
  });

  it("while streams are written to whose trailers have arrived in part", async () => {
    const ended = (): Promise<number> =>
      readMetric(proxy.management, 'bunting_proxy_service_connections_ended_total{reason="stalled"}');
    const unread = 12;
    for (let opened = 0; opened < unread; opened++) {
      const peer = await connect({ windowBytes: 2 ** 31 - 1, reads: false });
      const requests = Array.from({ length: 8 }, () => peer.takeStreamId());
      const [last = 0] = requests.slice(-1);
      await peer.send(
        Buffer.concat([
          frame(frameType.windowUpdate, 0, 0, Buffer.of(0x7f, 0xff, 0, 0)),
          ...requests.map((id) => requestFrames(id, syncFlags, { message: selector, endsStream: false })),
          frame(frameType.headers, 0, last, trailer),
        ]),
      );
    }
    await eventually(async () => (await ended()) === unread, "the end of the connections");
    await isWell();
  });
});
