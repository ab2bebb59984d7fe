import { expect } from "chai";
import type { PortListener } from "@bunting/server";
import {
  BytesClient,
  bytesStreaming,
  eventually,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());

describe("keepalive", () => {
  releaseAfterEach();

  let clock: ManualClock;
  let listener: PortListener;
  let silent: number;

  // Silent for 1,000 ms: a PING; for another 300 ms: dropped. A sweep runs every 150 ms.
  beforeEach(async () => {
    clock = new ManualClock();
    silent = 0;
    const keepalive = { intervalMs: 1_000, timeoutMs: 300, clock };
    listener = await serve([hold], {
      keepalive,
      onDropped: (reason) => (silent += reason === "silent" ? 1 : 0),
    });
  });

  async function deafClient(): Promise<RawClient> {
    const client = await rawClient(listener);
    const before = listener.sessions.size;
    client.send(wire.subscribe("/t.T/Hold"));
    await eventually(() => listener.sessions.size === before + 1);
    await eventually(() => [...listener.sessions].every(({ streams }) => streams.length === 1));
    return client;
  }

  it("sends a PING to a silent peer, keeps the connection if it answers, and drops it if not", async () => {
    const alive = new BytesClient(listener).stream("/t.T/Hold");
    await alive.headers;
    const [answering] = listener.sessions;
    const deaf = await deafClient();
    expect(clock.pendingTimers, "one timer, however many connections").to.equal(1);
    clock.advance(150);
    expect(deaf.hasFrame(wire.type.ping)).to.equal(false);
    clock.advance(1_050);
    await eventually(() => deaf.hasFrame(wire.type.ping));
    expect(listener.sessions.size).to.equal(2);
    // The live one has answered this PING once it answers a later one, so that its next follows only after another interval.
    await new Promise((resolve) => answering?.ping(resolve));
    clock.advance(300);
    await deaf.closed;
    await eventually(() => listener.sessions.size === 1);
    expect(silent).to.equal(1);
    expect(alive.call.destroyed).to.equal(false);
    await listener.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  it("drops a failed connection before the next sweep when memory rises, but none that is only silent", async () => {
    const deaf = await deafClient();
    const alive = new BytesClient(listener).stream("/t.T/Hold");
    await alive.headers;
    const failed = await deafClient();
    expect(listener.sessions.size).to.equal(3);
    failed.send(wire.data(7, Buffer.alloc(5)));
    const held: Buffer[] = [];
    await eventually(() => {
      if (listener.sessions.size === 2) return true;
      if (held.length < 100) held.push(Buffer.alloc(2 * 1024 * 1024, 1));
      return false;
    });
    await failed.closed;
    // As many rises again, with the other two.
    held.length = 0;
    for (let count = 0; count < 20; count++) {
      held.push(Buffer.alloc(5 * 1024 * 1024, 1));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(listener.sessions.size).to.equal(2);
    expect(deaf.hasFrame(wire.type.goaway)).to.equal(false);
    expect(alive.call.destroyed).to.equal(false);
  });

  it("sends no PING to a peer that sends by itself", async () => {
    const talker = await deafClient();
    talker.socket.setNoDelay(true);
    for (let step = 0; step < 40; step++) {
      if (step % 4 === 0) {
        // The answer to a PING of its own shows that the server has read it.
        const answers = talker.frames(wire.type.ping);
        talker.send(wire.ping());
        await eventually(() => talker.frames(wire.type.ping) > answers);
      }
      clock.advance(150);
    }
    expect(talker.frames(wire.type.ping), "answers only, no PING of the server's").to.equal(10);
    expect(silent).to.equal(0);
  });

  it("does not count another PING as its own", async () => {
    const deaf = await deafClient();
    const [session] = listener.sessions;
    expect(session?.ping(() => undefined)).to.equal(true);
    clock.advance(1_500);
    await deaf.closed;
  });

  it("checks thousands without blocking the event loop, and misses none", async () => {
    const clients = await Promise.all(Array.from({ length: 1_100 }, () => rawClient(listener)));
    for (const client of clients) client.send(wire.subscribe("/t.T/Hold"));
    await eventually(() => listener.sessions.size === 1_100, "all connections");
    for (let step = 0; step < 11; step++) {
      clock.advance(150);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(clients.map(({ closed }) => closed));
    expect(silent).to.equal(1_100);
  });
});
