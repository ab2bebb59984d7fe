import { getDefaultHighWaterMark, setDefaultHighWaterMark } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expectSubsequence } from "@bunting/test/support/expect-subsequence.js";
import { RawSyncConnection, type RawSyncStream } from "@bunting/test/support/raw-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";

const topic: TopicKey = "demo/flags";

function version(name: string, bytes = 0): FlagDocument {
  return { flags: { f: { state: name }, padding: { state: "x".repeat(bytes) } } };
}

describe("many subscribers", () => {
  let server: SyncServer;
  const connections: RawSyncConnection[] = [];

  // What a paused stream of a client reads ahead: 16 KB in Node 20, 64 KB in Node 24.
  const readAheadBytes = getDefaultHighWaterMark(false);
  before(() => setDefaultHighWaterMark(false, 16_384));
  after(() => setDefaultHighWaterMark(false, readAheadBytes));

  beforeEach(async () => {
    server = await new SyncServer().start();
  });

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    try {
      await eventually(() => server.listener.sessions.size === 0, "connections closed");
      for (const one of server.topics.topics()) expect(one.size).to.equal(0);
    } finally {
      await server.stop();
    }
  });

  async function connect(count: number, windowBytes?: number): Promise<RawSyncConnection[]> {
    const opening = Array.from({ length: count }, () => RawSyncConnection.open(server.port, windowBytes));
    const opened = await Promise.all(opening);
    connections.push(...opened);
    return opened;
  }

  /** `perConnection` streams on each of the connections. */
  function subscribeAll(opened: readonly RawSyncConnection[], perConnection: number): RawSyncStream[] {
    return opened.flatMap((connection) =>
      Array.from({ length: perConnection }, () => connection.subscribe(topic)),
    );
  }

  async function allAt(streams: readonly RawSyncStream[], name: string): Promise<void> {
    // A gate that keeps two processors busy with ten processes takes its time for 60 MB.
    await eventually(() => streams.every(({ last }) => last === name), `everyone at ${name}`, 90_000);
  }

  it("each of 1,000 gets the second of two edits 1 to 20 ms apart", async () => {
    server.source.publish(topic, version("start", 2_000));
    const shared = subscribeAll(await connect(50), 19);
    const own = subscribeAll(await connect(50), 1);
    const streams = [...shared, ...own];
    expect(streams).to.have.length(1_000);
    await allAt(streams, "start");
    const history = ["start"];
    for (const gapMs of [1, 2, 3, 5, 10, 20]) {
      server.source.publish(topic, version(`first, ${gapMs} ms`, 2_000));
      await delay(gapMs);
      server.source.publish(topic, version(`second, ${gapMs} ms`, 2_000));
      history.push(`first, ${gapMs} ms`, `second, ${gapMs} ms`);
      await allAt(streams, `second, ${gapMs} ms`);
    }
    for (const { versions } of streams) expectSubsequence(versions, history);
  });

  it("each of 200 topics subscribed for the first time at the same moment gives its own flags, from one watch", async () => {
    const names = Array.from({ length: 200 }, (_, index): TopicKey => `demo/flags-${index}`);
    for (const name of names) server.source.publish(name, version(name));
    const opened = await connect(20);
    const streams = names.flatMap((name, index) =>
      [0, 1].map((shift) => ({ name, stream: opened[(index + shift) % opened.length]?.subscribe(name) })),
    );
    await eventually(() => streams.every(({ stream }) => stream?.last !== undefined), "all flags");
    for (const { name, stream } of streams) expect(stream?.versions).to.deep.equal([name]);
    expect([...server.source.watchCounts.values()]).to.deep.equal(names.map(() => 1));
    for (const name of names) server.source.publish(name, version(`${name}, edited`));
    await eventually(
      () => streams.every(({ name, stream }) => stream?.last === `${name}, edited`),
      "all edits",
    );
  });

  it("each of 1,000 that stopped reading ends at the newest of 50 versions once it reads again, by at most two steps", async function () {
    this.timeout(150_000);
    server.source.publish(topic, version("v0"));
    const stalled = subscribeAll(await connect(50, 16_384), 20);
    const healthy = subscribeAll(await connect(10), 1);
    await allAt([...stalled, ...healthy], "v0");
    for (const stream of stalled) stream.pause();
    for (let number = 1; number <= 50; number++) {
      server.source.publish(topic, version(`v${number}`, 60_000));
      await allAt(healthy, `v${number}`);
    }
    expect(stalled.every(({ last }) => last === "v0")).to.be.true;
    for (const stream of stalled) stream.resume();
    await allAt(stalled, "v50");
    for (const { versions } of stalled) expect(versions).to.deep.equal(["v0", "v1", "v50"]);
    server.source.publish(topic, version("v51"));
    await allAt([...stalled, ...healthy], "v51");
  });
});
