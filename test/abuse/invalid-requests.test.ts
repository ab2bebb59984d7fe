import { expect } from "chai";
import { dataFrame, frame, frameFlag, frameType } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, literalHeader, requestFrames } from "./support/hostile-peer.js";

const requestsAtOnce = 100;

describe("requests whose content-length is false", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let port: number;
  const peers: HostilePeer[] = [];

  before(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path);
    port = Number(proxy.sync.split(":")[1]);
  });

  after(async () => {
    for (const peer of peers.splice(0)) peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  /** Requests with too long or too short a body, and with trailers. */
  function invalidRequests(peer: HostilePeer): Buffer {
    const frames = Array.from({ length: requestsAtOnce }, (_, index) => {
      const streamId = peer.takeStreamId();
      const headers = { "content-length": index % 2 === 0 ? "5" : "100000", "content-type": "text/plain" };
      return Buffer.concat([
        requestFrames(streamId, "/", { headers, endsStream: false }),
        dataFrame(streamId, Buffer.alloc(20), false),
        frame(
          frameType.headers,
          frameFlag.endHeaders | frameFlag.endStream,
          streamId,
          literalHeader("x-trailer", "y"),
        ),
      ]);
    });
    return Buffer.concat(frames);
  }

  it("end the connection when they are many, with a code of ours, before node's own bound is met", async () => {
    const peer = await HostilePeer.connect(port);
    peers.push(peer);
    for (let sent = 0; sent < 3_000 && !peer.isClosed; sent += requestsAtOnce)
      await peer.send(invalidRequests(peer));
    await eventually(() => peer.isClosed, "the end of the connection");
    // INTERNAL_ERROR: node has failed in the middle of nghttp2's work, and may abort when it collects the session.
    expect(peer.goaway).not.to.equal(2);
    const metrics = await (await fetch(`${proxy.management}/metrics`)).text();
    expect(metrics).to.match(/_connections_ended_total\{reason="protocol_error"\} 1$/m);
  });
});
