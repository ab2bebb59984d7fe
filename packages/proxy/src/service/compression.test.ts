import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import { once } from "node:events";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { legacySyncV1, syncV1, type FlagDocument } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { eventually } from "@bunting/test/support/event-queue.js";
import { RawSyncConnection } from "@bunting/test/support/raw-sync-client.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";

const topic = "demo/flags";

function version(name: string, bytes: number): FlagDocument {
  return { flags: { f: { state: name }, padding: { state: "x".repeat(bytes) } } };
}

/** The first frame that comes on a stream, as it is on the wire, and the response's headers. */
async function firstFrame(
  session: ClientHttp2Session,
  service: string,
  acceptEncoding: string | undefined,
): Promise<{ readonly frame: Buffer; readonly headers: IncomingHttpHeaders }> {
  const stream = session.request({
    ":method": "POST",
    ":path": `/${service}/SyncFlags`,
    "content-type": "application/grpc",
    te: "trailers",
    ...(acceptEncoding === undefined ? {} : { "grpc-accept-encoding": acceptEncoding }),
  });
  stream.end(frameMessage(syncV1.SyncFlagsRequest.encode({ providerId: "", selector: topic }).finish()));
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  let frame: Buffer = Buffer.alloc(0);
  while (frame.length < 5 || frame.length < 5 + frame.readUInt32BE(1)) {
    const [chunk] = (await once(stream, "data")) as [Buffer];
    frame = Buffer.concat([frame, chunk]);
  }
  stream.destroy();
  return { frame, headers };
}

describe("compression", () => {
  let server: SyncServer;
  let session: ClientHttp2Session;

  async function start(compresses: boolean): Promise<void> {
    server = await new SyncServer({ compresses }).start();
    session = connect(`http://127.0.0.1:${server.port}`);
  }

  afterEach(async () => {
    session.destroy();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    await server.stop();
  });

  const protocols = [
    {
      service: "flagd.sync.v1.FlagSyncService",
      decode: (bytes: Buffer) => syncV1.SyncFlagsResponse.decode(bytes),
    },
    {
      service: "sync.v1.FlagSyncService",
      decode: (bytes: Buffer) => legacySyncV1.SyncFlagsResponse.decode(bytes),
    },
  ];

  for (const { service, decode } of protocols) {
    it(`of ${service}: gzip to a stream that lists it, the plain frame to one that does not`, async () => {
      await start(true);
      server.source.publish(topic, version("v1", 50_000));
      const gzip = await firstFrame(session, service, "identity,deflate,gzip");
      const plain = await firstFrame(session, service, undefined);
      const other = await firstFrame(session, service, "identity,deflate");
      expect(gzip.headers["grpc-encoding"]).to.equal("gzip");
      expect(gzip.frame[0]).to.equal(1);
      expect(gzip.frame.length).to.be.lessThan(2_000);
      for (const { frame, headers } of [plain, other]) {
        expect(headers["grpc-encoding"]).to.be.undefined;
        expect(frame[0]).to.equal(0);
      }
      const message = gunzipSync(gzip.frame.subarray(5));
      expect(message.equals(plain.frame.subarray(5))).to.be.true;
      expect(decode(message)).to.deep.equal(decode(other.frame.subarray(5)));
    });
  }

  it("leaves small documents uncompressed, also on a stream that announced gzip", async () => {
    await start(true);
    server.source.publish(topic, version("v1", 10));
    const { frame, headers } = await firstFrame(session, "flagd.sync.v1.FlagSyncService", "gzip");
    expect(headers["grpc-encoding"]).to.equal("gzip");
    expect(frame[0]).to.equal(0);
  });

  it("can be switched off", async () => {
    await start(false);
    server.source.publish(topic, version("v1", 50_000));
    const { frame, headers } = await firstFrame(session, "flagd.sync.v1.FlagSyncService", "gzip");
    expect(headers["grpc-encoding"]).to.be.undefined;
    expect(frame[0]).to.equal(0);
  });

  it("brings a stock client that decompresses and a client that can't to the last of many sizes of document, side by side", async () => {
    await start(true);
    const stock = new StockSyncClient(`127.0.0.1:${server.port}`);
    const raw = await RawSyncConnection.open(server.port);
    try {
      const decompressing = stock.subscribe({ selector: topic });
      const legacy = stock.subscribe({ selector: topic, legacy: true });
      const plain = raw.subscribe(topic);
      await eventually(() => [...server.topics.topics()][0]?.size === 3, "the subscriptions");
      // Small ones go uncompressed, the largest are compressed in the thread pool.
      for (const bytes of [10, 2_000, 100_000, 600_000, 10, 1_500_000, 150_000]) {
        const name = `v${bytes}`;
        server.source.publish(topic, version(name, bytes));
        for (const stream of [decompressing, legacy]) {
          const { flags } = await stream.messages.nextEvent(name);
          expect(flags["f"]).to.deep.equal({ state: name });
        }
        await eventually(() => plain.last === name, `${name} at the client without gzip`);
      }
      for (const stream of [decompressing, legacy]) stream.cancel();
    } finally {
      stock.close();
      raw.close();
    }
  });

  it("loses no edit that comes while the one before is being compressed", async () => {
    await start(true);
    const stock = new StockSyncClient(`127.0.0.1:${server.port}`);
    try {
      const stream = stock.subscribe({ selector: topic });
      await stream.headers;
      server.source.publish(topic, version("v1", 600_000));
      server.source.publish(topic, version("v2", 600_000));
      server.source.publish(topic, version("v3", 600_000));
      const seen: unknown[] = [];
      while (seen.at(-1) !== "v3") {
        const { flags } = await stream.messages.nextEvent("v3");
        seen.push((flags["f"] as { state: string }).state);
      }
      expect(seen).to.deep.equal(["v1", "v3"]);
      stream.cancel();
    } finally {
      stock.close();
    }
  });
});
