import type { ServerHttp2Stream } from "node:http2";
import { syncV1 } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { dribble, HostileSyncServer, open, snapshot } from "@bunting/test/support/hostile-sync-server.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { GrpcSource } from "./grpc-source.js";
import { grpcConfig, partsOf, SourceProbe } from "./sync.fixture.js";

const topic = "demo/large";
const flags = { f: { state: "x".repeat(600_000) } };
/** In both protocols. */
const documentText = JSON.stringify({ flags });

describe("a document over a slow link", () => {
  let clock: ManualClock;
  let probe: SourceProbe;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(() => {
    clock = new ManualClock();
    probe = new SourceProbe(clock);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** A source, and the stream of this protocol that it opens. */
  async function follow(protocol: string, selector: string): Promise<ServerHttp2Stream> {
    const streams: ServerHttp2Stream[] = [];
    const server = new HostileSyncServer((stream, path) => {
      if (path.startsWith(`/${protocol}.`)) streams.push(open(stream).resume());
    });
    cleanUps.push(() => server.stop());
    const source = new GrpcSource(partsOf(grpcConfig(await server.listen(), { selector }), probe.options));
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    cleanUps.push(() => {
      abort.abort();
      return ended;
    });
    await eventually(() => probe.logs.some(({ msg }) => msg.startsWith("connected")), "the stream");
    const [stream] = streams;
    if (stream === undefined) throw new Error(`there is no stream of ${protocol}`);
    return stream;
  }

  it("is awaited from a proxy as long as it is arriving, and no longer", async () => {
    const stream = await follow("bunting.sync.v1", topic);
    await dribble(stream, snapshot(topic, flags), () => clock.advance(59_999));
    expect(await probe.nextDocument()).to.equal(documentText);
    expect(probe.failures).to.deep.equal([]);
    clock.advance(120_000);
    await probe.failure("silent");
  });

  it("is not called missing while it is arriving from flagd", async () => {
    const stream = await follow("flagd.sync.v1", "");
    const body = syncV1.SyncFlagsResponse.encode({ flagConfiguration: documentText }).finish();
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    await dribble(stream, Buffer.concat([prefix, body]), () => clock.advance(5_000));
    expect(await probe.nextDocument()).to.equal(documentText);
    expect(probe.logs.filter(({ level }) => level !== "info")).to.deep.equal([]);
  });
});
