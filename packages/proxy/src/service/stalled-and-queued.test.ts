import { expect } from "chai";
import { constants } from "node:http2";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { FlagDocument } from "@bunting/protocol";
import { StartQueue } from "@bunting/rpc";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RawSyncConnection } from "@bunting/test/support/raw-sync-client.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { noMetrics } from "../proxy-metrics.js";
import { ConnectionAge } from "./connection-age.js";
import { TopicQuota } from "../topic/topic-quota.js";

const topic = "demo/flags";
const silent = createLogger({ format: "json", debug: false }, { write: () => undefined });

function version(name: string, bytes = 10): FlagDocument {
  return { flags: { f: { state: name }, padding: { state: "x".repeat(bytes) } } };
}

describe("a subscriber", () => {
  let clock: ManualClock;
  let server: SyncServer;
  let abort: AbortController;
  let counts: Record<string, number>;
  const releases: (() => void)[] = [];

  function count(name: string, by = 1): void {
    counts[name] = (counts[name] ?? 0) + by;
  }

  const metrics = {
    ...noMetrics,
    queuedStarts: (delta: number) => count("queued", delta),
    refused: (reason: string) => count(reason),
    connectionEnded: (reason: string) => count(reason),
  };

  const onWaiting = metrics.queuedStarts;

  beforeEach(() => {
    clock = new ManualClock();
    abort = new AbortController();
    counts = {};
  });

  afterEach(async () => {
    for (const release of releases.splice(0)) release();
    abort.abort();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    await server.stop();
  });

  async function connect(windowBytes?: number): Promise<RawSyncConnection> {
    const connection = await RawSyncConnection.open(server.port, windowBytes);
    releases.push(() => connection.close());
    return connection;
  }

  it("that does not read is reset with REFUSED_STREAM after the stall timeout; one that reads, and one that is idle, are not", async () => {
    const stall = { timeoutMs: 800, clock, onStreamStalled: () => count("stalled") };
    server = await new SyncServer({ stall, context: { metrics } }).start();
    server.source.publish(topic, version("v0"));
    const connection = await connect(16_384);
    const stalled = connection.subscribe(topic);
    const reading = connection.subscribe(topic);
    const idle = (await connect()).subscribe("demo/quiet");
    server.source.publish("demo/quiet", version("quiet"));
    await eventually(() => [stalled, reading, idle].every(({ last }) => last !== undefined), "first flags");
    clock.advance(10_000);
    stalled.pause();
    server.source.publish(topic, version("v1", 100_000));
    await eventually(() => reading.last === "v1", "v1 at the one that reads");
    clock.advance(799);
    expect(counts["stalled"]).to.be.undefined;
    clock.advance(101);
    await eventually(() => counts["stalled"] === 1, "the end of the stalled stream");
    stalled.resume();
    await eventually(() => stalled.resetCode === constants.NGHTTP2_REFUSED_STREAM, "RST_STREAM");
    server.source.publish(topic, version("v2"));
    await eventually(() => reading.last === "v2", "v2 on the same connection");
    const again = connection.subscribe(topic);
    await eventually(() => again.last === "v2", "v2 at the client that came again");
    expect(idle.resetCode).to.be.undefined;
    expect(counts["stalled"]).to.equal(1);
    await server.listener.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  it("that waits for its turn has headers at once, is not disturbed by edits, and then gets the newest, once", async () => {
    const startQueue = new StartQueue({ perSecond: 100, burst: 1, clock, onWaiting });
    server = await new SyncServer({ startQueue, context: { metrics } }).start();
    server.source.publish(topic, version("v0"));
    const first = (await connect()).subscribe(topic);
    await eventually(() => first.last === "v0", "the first stream's flags");
    const client = new StockSyncClient(`127.0.0.1:${server.port}`);
    releases.push(() => client.close());
    const waiting = client.subscribe({ selector: topic });
    releases.push(() => waiting.cancel());
    await waiting.headers;
    server.source.publish(topic, version("v1"));
    server.source.publish(topic, version("v2"));
    await eventually(() => first.last === "v2", "edits at the stream that has started");
    await client.fence();
    expect(waiting.messages.size).to.equal(0);
    expect(counts["queued"]).to.equal(1);
    clock.advance(10);
    expect((await waiting.messages.nextEvent("flags")).text).to.include("v2");
    server.source.publish(topic, version("v3"));
    expect((await waiting.messages.nextEvent("flags")).text).to.include("v3");
    expect(counts["queued"]).to.equal(0);
  });

  it("that waits for its turn when the proxy drains gets the newest at once, and UNAVAILABLE", async () => {
    const startQueue = new StartQueue({ perSecond: 1, burst: 1, clock, onWaiting });
    server = await new SyncServer({ startQueue, context: { metrics } }).start();
    server.source.publish(topic, version("v0"));
    const connection = await connect();
    const streams = [connection.subscribe(topic), connection.subscribe(topic)];
    await eventually(() => counts["queued"] === 1, "the one that waits");
    for (const session of server.listener.sessions)
      for (const stream of session.streams)
        server.flagSync.drain(stream, { code: "UNAVAILABLE", message: "" });
    await eventually(() => streams.every(({ status }) => status === grpcStatus.UNAVAILABLE), "both ends");
    for (const { versions } of streams) expect(versions).to.deep.equal(["v0"]);
  });

  it("of one topic too many is refused with UNAVAILABLE and a pushback, and served once it has left another", async () => {
    const log = new RateLimitedLog(silent, clock);
    server = await new SyncServer({
      quota: new TopicQuota({ perConnection: 2, perAddress: 0, metrics, log }),
    }).start();
    const client = new StockSyncClient(`127.0.0.1:${server.port}`);
    releases.push(() => client.close());
    const [one, two] = ["demo/a", "demo/b"].map((selector) => client.subscribe({ selector }));
    for (const stream of [one, two]) await stream?.headers;
    const { code, details, metadata } = await client.subscribe({ selector: "demo/c" }).ended;
    expect(code).to.equal(grpcStatus.UNAVAILABLE);
    expect(details).to.include("--max-topics-per-connection");
    expect(Number(metadata.get("grpc-retry-pushback-ms")[0])).to.be.within(5_000, 15_000);
    const fetching = await client.fetchAll("demo/c").catch((error: unknown) => error);
    expect(fetching).to.have.property("code", grpcStatus.UNAVAILABLE);
    expect(counts["topics_per_connection"]).to.equal(2);
    one?.cancel();
    await eventually(() => [...server.listener.sessions][0]?.streams.length === 1, "the stream's end");
    const three = client.subscribe({ selector: "demo/c" });
    await three.headers;
    for (const stream of [two, three]) stream?.cancel();
  });

  it("on a connection of the maximum age gets the newest and UNAVAILABLE, and is served on a new connection", async () => {
    const age = new ConnectionAge({
      maxAgeMs: 60_000,
      graceMs: 1_000,
      context: { clock, metrics },
      random: () => 0,
      drain: (stream, status) => void server.flagSync.drain(stream, status),
    });
    const running = age.run(abort.signal);
    server = await new SyncServer({ onSession: (session) => age.add(session) }).start();
    server.source.publish(topic, version("v0"));
    const client = new StockSyncClient(`127.0.0.1:${server.port}`);
    releases.push(() => client.close());
    const stream = client.subscribe({ selector: topic });
    await stream.messages.nextEvent("flags");
    clock.advance(53_000);
    const young = (await connect()).subscribe(topic);
    await eventually(() => young.last === "v0", "the younger connection's flags");
    clock.advance(1_000);
    expect(await stream.ended).to.include({ code: grpcStatus.UNAVAILABLE });
    await eventually(() => server.listener.sessions.size === 1, "the end of the old connection");
    expect(counts["age"]).to.equal(1);
    const again = client.subscribe({ selector: topic });
    expect((await again.messages.nextEvent("flags")).text).to.include("v0");
    expect(young.status).to.be.undefined;
    again.cancel();
    abort.abort();
    await running;
  });
});
