import { expect } from "chai";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const streams = 5_000;
const warmUp = streams / 4;
const body = Buffer.alloc(15_000, "a");
const bodiesPerStream = 4;

describe("bodies of requests that are not gRPC, from a client that takes no answer", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  let peer: HostilePeer;

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path);
    vitals = new Vitals(proxy.process.pid);
  });
  afterEach(async () => {
    vitals.stop();
    peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  for (const [name, port] of [
    ["sync", () => Number(proxy.sync.split(":")[1])],
    ["management", () => Number(new URL(proxy.management).port)],
  ] as const)
    it(`are not held (${name} port)`, async () => {
      peer = await HostilePeer.connect(port(), { windowBytes: 0 });
      const headers = { "content-type": "text/plain" };
      for (let index = 0; index < streams && !peer.isClosed; index++) {
        if (index === warmUp) vitals.markWarm();
        const streamId = peer.takeStreamId();
        const data = dataFrame(streamId, body, false);
        const request = requestFrames(streamId, "/livez", { headers, endsStream: false });
        await peer.send(Buffer.concat([request, ...Array<Buffer>(bodiesPerStream).fill(data)]));
      }
      await fetch(`${proxy.management}/livez`);
      vitals.expectGrowth({
        below: 128,
        attack: ((streams - warmUp) * bodiesPerStream * body.length) / mebibyte,
      });
    });
});
