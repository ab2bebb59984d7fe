import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { mebibyte, Vitals } from "./support/vitals.js";

describe("Requests that are sent but for their last byte", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  const sessions: ClientHttp2Session[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path);
    vitals = new Vitals(proxy.process.pid);
  });
  afterEach(async () => {
    vitals.stop();
    for (const session of sessions.splice(0)) session.destroy();
    await proxy.process.stop();
    directory.remove();
  });

  for (const [count, messageBytes] of [
    [200, mebibyte],
    [1_000, 128 * 1024],
  ] as const) {
    it(`hold little memory: ${count} of ${messageBytes / 1024} KiB`, async () => {
      const session = connect(`http://${proxy.sync}`, { maxSessionMemory: 4_000 });
      session.on("error", () => undefined);
      sessions.push(session);
      const half = halfOf(messageBytes);
      for (const part of [count / 4, count]) {
        vitals.markWarm();
        const streams = Array.from({ length: part }, () =>
          open(session, "/bunting.sync.v1.SyncService/Sync"),
        );
        for (const stream of streams) stream.write(half);
        await Promise.all(streams.map((stream) => written(stream)));
      }
      vitals.expectGrowth({ below: 80, attack: (count * messageBytes) / mebibyte });

      const client = new StockSyncClient(proxy.sync);
      const subscription = client.subscribe({ selector: "default/flags" });
      await subscription.messages.nextEvent("the flags of a healthy client");
      client.close();
    });
  }
});

/** All of a gRPC message but its last byte. */
function halfOf(messageBytes: number): Buffer {
  const half = Buffer.alloc(5 + messageBytes - 1);
  half.writeUInt32BE(messageBytes, 1);
  return half;
}

function open(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.resume();
  return stream;
}

/** Resolves when the stream has sent all that was written to it, or has ended. */
async function written(stream: ClientHttp2Stream): Promise<void> {
  await eventually(() => stream.writableLength === 0 || stream.closed, "all bytes to be sent");
}
