import { once } from "node:events";
import { connect as connectTcp, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect } from "chai";
import type { FlagDocument } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { RawSyncConnection, type RawSyncStream } from "@bunting/test/support/raw-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { noMetrics } from "../proxy-metrics.js";

const topic = "demo/flags";
const unavailable = { code: "UNAVAILABLE", message: "shutting down" } as const;

/** A document of about this many bytes. */
function version(number: number, bytes: number): FlagDocument {
  return { flags: { f: { state: `v${number}` }, padding: { state: "x".repeat(bytes) } } };
}

/** Relays bytes between a client and the server, until it stops reading from the server. */
class Relay {
  readonly #server: Server;
  #up: Socket | undefined;

  constructor(port: number) {
    this.#server = createServer((client) => {
      const up = connectTcp(port, "127.0.0.1");
      this.#up = up;
      client.pipe(up).pipe(client);
      for (const socket of [client, up]) socket.on("error", () => undefined);
      client.on("close", () => up.destroy());
      up.on("close", () => client.destroy());
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  stall(): void {
    this.#up?.pause();
  }

  resume(): void {
    this.#up?.resume();
  }

  close(): void {
    this.#server.close();
  }
}

describe("a subscriber stream", () => {
  let server: SyncServer;
  let connection: RawSyncConnection;
  const counts = { written: 0, conflated: 0, fannedOut: 0, active: 0, converged: 0 };

  beforeEach(async () => {
    Object.assign(counts, { written: 0, conflated: 0, fannedOut: 0, active: 0, converged: 0 });
    const metrics = {
      ...noMetrics,
      activeStreams: (delta: number) => (counts.active += delta),
      frameWritten: () => counts.written++,
      fannedOut: () => counts.fannedOut++,
      conflated: (snapshots = 1) => (counts.conflated += snapshots),
      converged: (share: number) => (counts.converged += share === 1 ? 1 : 0),
    };
    server = await new SyncServer({ context: { metrics } }).start();
    connection = await RawSyncConnection.open(server.port);
  });

  afterEach(async () => {
    connection.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    await server.stop();
    expect(counts.active).to.equal(0);
  });

  async function stalledAt(first: FlagDocument): Promise<RawSyncStream> {
    server.source.publish(topic, { flags: { f: { state: "v0" } } });
    const stream = connection.subscribe(topic);
    await eventually(() => stream.last === "v0", "the first snapshot");
    stream.pause();
    server.source.publish(topic, first);
    return stream;
  }

  it("does not lose an update that comes while a slow subscriber is in the middle of the one before", async () => {
    const stream = await stalledAt(version(1, 200_000));
    server.source.publish(topic, version(2, 200_000));
    expect(counts.written).to.equal(1);
    stream.resume();
    await eventually(() => stream.last === "v2", "the newest snapshot");
    expect(stream.versions).to.deep.equal(["v0", "v1", "v2"]);
    await eventually(() => counts.written === 3, "the last write");
    expect(counts.conflated).to.equal(0);
  });

  it("conflates: a slow subscriber gets what is in flight and then the newest, without the forty in between", async () => {
    const stream = await stalledAt(version(1, 200_000));
    for (let number = 2; number <= 42; number++) server.source.publish(topic, version(number, 200_000));
    stream.resume();
    await eventually(() => stream.last === "v42", "the newest snapshot");
    expect(stream.versions).to.deep.equal(["v0", "v1", "v42"]);
    await eventually(() => counts.written === 3, "the last write");
    expect(counts.conflated).to.equal(40);
    // For v0, which the subscriber waited for, and the newest; no subscriber caught up with those in between.
    expect(counts.fannedOut).to.equal(3);
    await eventually(() => counts.converged === 2, "the convergence of the newest");
  });

  it("ends at A if A, B, A are published while B is in flight", async () => {
    const stream = await stalledAt(version(1, 200_000));
    server.source.publish(topic, { flags: { f: { state: "v0" } } });
    stream.resume();
    await eventually(() => stream.versions.length === 3, "the newest snapshot");
    expect(stream.versions).to.deep.equal(["v0", "v1", "v0"]);
  });

  it("sends nothing more if B came and went while A was in flight", async () => {
    const stream = await stalledAt(version(1, 200_000));
    server.source.publish(topic, version(2, 200_000));
    server.source.publish(topic, version(1, 200_000));
    stream.resume();
    await eventually(() => counts.written === 2, "the write of A");
    server.source.publish(topic, version(3, 10));
    await eventually(() => stream.last === "v3", "the next snapshot");
    expect(stream.versions).to.deep.equal(["v0", "v1", "v3"]);
  });

  it("flushes the newest version when it drains in the middle of a write, then ends with UNAVAILABLE", async () => {
    const stream = await stalledAt(version(1, 200_000));
    server.source.publish(topic, version(2, 200_000));
    const [session] = server.listener.sessions;
    for (const one of session?.streams ?? []) {
      expect(server.flagSync.drain(one, unavailable)).to.be.true;
      expect(server.flagSync.drain(one, unavailable)).to.be.true;
    }
    stream.resume();
    await eventually(() => stream.status !== undefined, "the end of the stream");
    expect(stream.versions).to.deep.equal(["v0", "v1", "v2"]);
    expect(stream.status).to.equal(14);
  });

  it("does not pile up versions in the kernel for a peer with a large window that stopped reading", async () => {
    const relay = new Relay(server.port);
    const behindRelay = await RawSyncConnection.open(await relay.listen(), 16 * 1024 * 1024);
    try {
      server.source.publish(topic, version(0, 10_000));
      const stream = behindRelay.subscribe(topic);
      await eventually(() => stream.last === "v0", "the first snapshot");
      relay.stall();
      for (let number = 1; number <= 40; number++) {
        server.source.publish(topic, version(number, 10_000));
        // Time enough for the write callback, which is all that a stream without the gate waits for.
        await new Promise((resolve) => setImmediate(resolve));
      }
      relay.resume();
      await eventually(() => stream.last === "v40", "the newest snapshot");
      // One was under way when the peer stopped; which one depends on when its answer to the PING for v0 came through.
      expect(stream.versions).to.have.length(3);
      expect([stream.versions[0], stream.versions[2]]).to.deep.equal(["v0", "v40"]);
    } finally {
      behindRelay.close();
      relay.close();
    }
  });
});
