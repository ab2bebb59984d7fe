import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { drainSessions } from "./drain-sessions.js";
import { frameMessage } from "@bunting/rpc";
import type { PortListener } from "@bunting/server";
import type { TransportStream } from "./transport.js";
import {
  bytesStreaming,
  BytesClient,
  eventually,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
} from "@bunting/test/support/grpc-port.js";

const path = "/t.T/Hold";
const newest = frameMessage(Buffer.from("newest"));
const flush = (stream: TransportStream): void => {
  stream.write(newest);
  stream.end({ code: "UNAVAILABLE", message: "the proxy is shutting down" });
};

const holding = (): Promise<PortListener> =>
  serve([bytesStreaming(path, (_request, out) => out.sendHeaders())]);

async function stalled(listener: PortListener, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    (await rawClient(listener)).send(wire.subscribe(path, { 4: 0 }));
  }
}

const streamsOf = (listener: PortListener): TransportStream[] =>
  [...listener.sessions].flatMap(({ streams }) => [...streams]);

describe("drainSessions", () => {
  releaseAfterEach();

  it("ends every stream with the newest message and UNAVAILABLE, and leaves no connection", async () => {
    const listener = await holding();
    const clients = Array.from({ length: 10 }, () => new BytesClient(listener, { "grpc.enable_retries": 0 }));
    const probes = clients.flatMap((client) => [client.stream(path), client.stream(path)]);
    await Promise.all(probes.map(({ headers }) => headers));
    await listener.stopListening();
    const report = await drainSessions(listener.sessions, {
      windowMs: 100,
      graceMs: 60_000,
      onStream: flush,
    });
    for (const probe of probes) {
      expect(await probe.status).to.include({
        code: status.UNAVAILABLE,
        details: "the proxy is shutting down",
      });
      expect(probe.messages.map(String)).to.deep.equal(["newest"]);
    }
    expect(report).to.deep.equal({ sessions: 10, resetStreams: 0 });
    expect(listener.sessions.size).to.equal(0);
  });

  it("sends GOAWAY before the trailers, so that no client opens its next stream on the closing connection", async () => {
    const listener = await holding();
    const client = await rawClient(listener);
    client.send(wire.subscribe(path));
    await eventually(() => streamsOf(listener).length === 1);
    await drainSessions(listener.sessions, { windowMs: 0, graceMs: 60_000, onStream: flush });
    await client.closed;
    const goaway = client.received.indexOf(
      wire.frame(wire.type.goaway, 0, 0, Buffer.alloc(8)).toString("latin1").slice(0, 9),
    );
    const trailers = client.received.lastIndexOf(Buffer.from([1, 5, 0, 0, 0, 1]).toString("latin1"));
    expect(goaway).to.be.above(0);
    expect(trailers).to.be.above(goaway);
  });

  it("ends in time though many peers do not read", async () => {
    const clock = new ManualClock();
    const listener = await holding();
    await stalled(listener, 30);
    const reader = new BytesClient(listener).stream(path);
    await reader.headers;
    await eventually(() => streamsOf(listener).length === 31);
    await listener.stopListening();
    const startedMs = clock.now();
    const draining = drainSessions(listener.sessions, {
      windowMs: 5_000,
      graceMs: 1_000,
      onStream: flush,
      clock,
      random: () => 0.9999,
    });
    clock.advance(5_000);
    expect((await reader.status).code).to.equal(status.UNAVAILABLE);
    clock.advance(1_000);
    expect(await draining).to.deep.equal({ sessions: 31, resetStreams: 30 });
    expect(clock.now() - startedMs).to.equal(6_000);
    expect(clock.pendingTimers).to.equal(0);
    expect(listener.sessions.size).to.equal(0);
  });

  it("ends the connections one by one within the window", async () => {
    const clock = new ManualClock();
    const listener = await holding();
    await stalled(listener, 4);
    await eventually(() => streamsOf(listener).length === 4);
    const turns: number[] = [];
    const startedMs = clock.now();
    let drawn = 0;
    const draining = drainSessions(listener.sessions, {
      windowMs: 4_000,
      graceMs: 100,
      onStream: () => turns.push(clock.now() - startedMs),
      clock,
      random: () => [0.5, 0, 0.999, 0.25][drawn++] ?? 0,
    });
    clock.advance(4_100);
    await draining;
    expect(turns).to.deep.equal([0, 1_000, 2_000, 3_996]);
  });

  it("sends RST_STREAM REFUSED_STREAM to a stream whose trailers can't get out", async () => {
    const listener = await holding();
    const client = await rawClient(listener);
    client.send(wire.subscribe(path, { 4: 0 }));
    await eventually(() => streamsOf(listener).length === 1);
    await drainSessions(listener.sessions, { windowMs: 0, graceMs: 20, onStream: flush });
    await client.closed;
    const refused = wire.frame(wire.type.rstStream, 0, 1, Buffer.from([0, 0, 0, 7])).toString("latin1");
    expect(client.received).to.contain(refused);
  });

  it("drops a connection whose peer neither reads nor closes", async () => {
    const listener = await holding();
    const client = await rawClient(listener);
    client.send(
      Buffer.concat([wire.subscribe(path, { 4: 2 ** 31 - 1 }), wire.windowUpdate(0, 2 ** 31 - 70_000)]),
    );
    client.socket.pause();
    await eventually(() => streamsOf(listener).length === 1);
    const report = await drainSessions(listener.sessions, {
      windowMs: 0,
      graceMs: 50,
      onStream: (stream) => {
        for (let message = 0; message < 30; message += 1) stream.write(frameMessage(Buffer.alloc(1_000_000)));
        flush(stream);
      },
    });
    expect(report).to.deep.equal({ sessions: 1, resetStreams: 1 });
    expect(listener.sessions.size).to.equal(0);
  });

  it("drops everything when the signal aborts", async () => {
    const clock = new ManualClock();
    const listener = await holding();
    await stalled(listener, 3);
    await eventually(() => streamsOf(listener).length === 3);
    const abort = new AbortController();
    const options = { windowMs: 60_000, graceMs: 60_000, onStream: flush, clock, signal: abort.signal };
    const draining = drainSessions(listener.sessions, options);
    abort.abort();
    expect(await draining).to.deep.equal({ sessions: 3, resetStreams: 3 });
    expect(clock.pendingTimers).to.equal(0);
  });
});
