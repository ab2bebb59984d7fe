import { once } from "node:events";
import { status } from "@grpc/grpc-js";
import { HostilePeer } from "@bunting/test/abuse/support/hostile-peer.js";
import { expect } from "chai";
import { connectionBytes } from "@bunting/server/internal/limits/peer-account.js";
import { HeldFrame } from "@bunting/http2";
import { type DropReason, PeerMemory } from "@bunting/server";
import {
  afterwards,
  answerOf,
  bytesStreaming,
  bytesUnary,
  BytesClient,
  eventually,
  failure,
  grpcHeaders,
  http2Client,
  listen,
  releaseAfterEach,
  serve,
} from "@bunting/test/support/grpc-port.js";

const echo = bytesUnary("/t.T/Echo", (request) => request);
const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());
const kibibyte = 1024;

describe("the admission of connections", () => {
  releaseAfterEach();

  it("answers a new connection with UNAVAILABLE and a pushback while memory is full, and then closes it", async () => {
    const memory = new PeerMemory(2 * connectionBytes);
    const dropped: DropReason[] = [];
    const listener = await serve([echo, hold], { memory, onDropped: (reason) => dropped.push(reason) });
    const held = new BytesClient(listener).stream("/t.T/Hold");
    await held.headers;
    const error = await failure(new BytesClient(listener).unary("/t.T/Echo", Buffer.from("x")));
    expect(error.code).to.equal(status.UNAVAILABLE);
    expect(error.details).to.contain("--peer-memory");
    expect(error.metadata.get("grpc-retry-pushback-ms")).to.deep.equal(["5000"]);
    expect(dropped).to.deep.equal(["memory"]);
    await eventually(() => listener.sessions.size === 1, "the refused connection to be closed");
    held.call.cancel();
    await held.status;
  });

  it("closes the HTTP/2 connection that has been idle for longest for a new one", async () => {
    const memory = new PeerMemory(2.5 * connectionBytes, "idle");
    const listener = await serve([echo], { memory });
    const first = await HostilePeer.connect(listener.port);
    const second = await HostilePeer.connect(listener.port);
    afterwards(() => {
      first.destroy();
      second.destroy();
    });
    await eventually(() => listener.sessions.size === 2, "two connections");
    // It has asked for something since, so the other has been idle for longer.
    const id = await first.request("/t.T/Echo", { message: Buffer.from("x") });
    await eventually(() => first.ended.has(id), "an answer");
    expect((await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("x"))).toString()).to.equal("x");
    await eventually(() => second.isClosed, "the connection to be closed");
    expect(first.isClosed).to.equal(false);
  });

  it("closes a refused connection that asks for nothing", async () => {
    const listener = await serve([echo], { memory: new PeerMemory(connectionBytes / 2) });
    const peer = await HostilePeer.connect(listener.port);
    afterwards(() => peer.destroy());
    await eventually(() => peer.isClosed, "the connection to be closed");
  });

  it("ends the greediest connection with UNAVAILABLE and a pushback, and no other", async () => {
    const memory = new PeerMemory(1024 * kibibyte);
    const dropped: unknown[] = [];
    const listener = await serve([echo, hold], { memory, onDropped: (...why) => dropped.push(why) });
    const modest = new BytesClient(listener).stream("/t.T/Hold");
    await modest.headers;
    const session = http2Client(listener);
    const streams = Array.from({ length: 100 }, () => session.request(grpcHeaders("/t.T/Hold")));
    const answers = await Promise.all(streams.map((stream) => answerOf(stream)));
    const told = answers.filter(({ headers }) => headers["grpc-retry-pushback-ms"] === "5000");
    expect(told.length, "streams that were open by then").to.be.greaterThan(60);
    for (const { headers } of told) expect(headers["grpc-status"]).to.equal(String(status.UNAVAILABLE));
    await eventually(() => listener.sessions.size === 1, "the greedy connection to be closed");
    expect([...listener.sessions][0]?.streams.length, "streams of the modest one").to.equal(1);
    expect(memory.bytes).to.be.lessThan(2 * connectionBytes);
    expect(dropped, "it is no slow reader").to.deep.equal([["memory", undefined, "127.0.0.1"]]);
    modest.call.cancel();
    await modest.status;
  });

  it("says of a subscriber that it ends for an old version of flags that it was slow to take it", async () => {
    const memory = new PeerMemory(1024 * kibibyte);
    const frame = Buffer.alloc(900 * kibibyte);
    const held = new HeldFrame(frame.byteLength);
    const old = bytesStreaming("/t.T/Old", (_request, out) => {
      held.hold(out.stream);
      out.writeShared(frame);
      out.onClose(() => held.release(out.stream));
    });
    const dropped: unknown[] = [];
    const listener = await serve([old], { memory, onDropped: (...why) => dropped.push(why) });
    const stream = http2Client(listener).request(grpcHeaders("/t.T/Old")).end(Buffer.alloc(5));
    await eventually(() => held.isHeld, "a subscriber");
    // The client does not read, so it takes no more of the frame than the first window.
    // Reset or ended by trailers, whichever gets out.
    stream.on("error", () => undefined);
    const closed = new Promise<void>((resolve) => stream.once("close", resolve));
    held.supersede();
    await eventually(() => dropped.length > 0, "the subscriber to be ended");
    expect(dropped).to.have.length(1);
    const [[reason, detail, peer]] = dropped as [[string, string, string]];
    expect([reason, peer]).to.deep.equal(["memory", "127.0.0.1"]);
    expect(detail).to.contain("has not taken yet what it was sent");
    stream.resume();
    await closed;
  });

  it("takes what a connection held off the ledger when it closes, and when each stream does", async () => {
    const memory = new PeerMemory(Number.POSITIVE_INFINITY);
    const listener = await serve([hold, echo], { memory });
    const session = http2Client(listener);
    const held = session.request({ ...grpcHeaders("/t.T/Hold"), large: "x".repeat(10 * kibibyte) });
    held.write(Buffer.alloc(3));
    await eventually(() => memory.bytes > connectionBytes + 16 * kibibyte, "headers to be charged");
    const echoed = session.request(grpcHeaders("/t.T/Echo"));
    const before = memory.bytes;
    echoed.end(Buffer.alloc(5));
    await answerOf(echoed);
    await eventually(() => memory.bytes === before, "the answered call to be taken off");
    held.close();
    await eventually(() => memory.bytes === connectionBytes, "the stream to be taken off");
    session.destroy();
    await eventually(() => memory.bytes === 0, "the connection to be taken off");
  });

  it("ends a connection whose peer does not acknowledge SETTINGS, and no other", async () => {
    const dropped: DropReason[] = [];
    const listener = await serve([hold], {
      limits: { settingsTimeoutMs: 50 },
      onDropped: (reason) => dropped.push(reason),
    });
    const acknowledging = http2Client(listener);
    await once(acknowledging, "localSettings");
    const peer = await HostilePeer.connect(listener.port, { acknowledges: false });
    afterwards(() => peer.destroy());
    await eventually(() => peer.isClosed, "the connection to be closed");
    expect(dropped).to.deep.equal(["settings"]);
    expect(listener.sessions.size).to.equal(1);
  });

  describe("with a deadline for connections without a stream that is served", () => {
    const quick = { firstStreamTimeoutMs: 50, idleTimeoutMs: 50 };
    const health = bytesStreaming("/t.T/Health", (_request, out) => out.sendHeaders());
    const admitting = bytesStreaming("/t.T/Admitting", (_request, out) => {
      out.stream.admit();
      out.sendHeaders();
    });
    let dropped: DropReason[];
    const serveQuickly = (more: object = {}) =>
      serve([hold, health, admitting, echo], {
        limits: quick,
        onDropped: (reason) => dropped.push(reason),
        ...more,
      });
    beforeEach(() => (dropped = []));

    it("ends one that never has one, with GOAWAY, and one that has none any more", async () => {
      const listener = await serveQuickly();
      const held = new BytesClient(listener).stream("/t.T/Hold");
      await held.headers;
      const silent = await HostilePeer.connect(listener.port);
      const used = await HostilePeer.connect(listener.port);
      afterwards(() => [silent, used].forEach((peer) => peer.destroy()));
      const id = await used.request("/t.T/Echo", { message: Buffer.from("x") });
      await eventually(() => used.ended.has(id), "an answer");

      await eventually(() => silent.isClosed && used.isClosed, "the connections to be closed");
      expect([silent.goaway, used.goaway], "no error").to.deep.equal([0, 0]);
      expect(dropped).to.deep.equal(["idle", "idle"]);
      await eventually(() => listener.sessions.size === 1, "the end of all but the one with a stream");
      held.call.cancel();
      await held.status;
    });

    it("does not count streams that no service has admitted, where services decide", async () => {
      const listener = await serveQuickly({ admitsLater: true });
      const kept = new BytesClient(listener).stream("/t.T/Admitting");
      await kept.headers;
      const peers = await Promise.all(Array.from({ length: 3 }, () => HostilePeer.connect(listener.port)));
      const [watching, refused, unfinished] = peers as [HostilePeer, HostilePeer, HostilePeer];
      afterwards(() => peers.forEach((peer) => peer.destroy()));
      await watching.request("/t.T/Health", { message: Buffer.alloc(0) });
      await unfinished.request("/t.T/Hold", { endsStream: false });
      // Again and again: a call that is refused must not put the end off.
      while (!refused.isClosed) {
        const id = await refused.request("/t.T/None", { message: Buffer.alloc(0) });
        await eventually(() => refused.ended.has(id) || refused.isClosed, "the refusal");
      }
      await eventually(() => peers.every(({ isClosed }) => isClosed), "the connections to be closed");
      expect(dropped).to.deep.equal(["idle", "idle", "idle"]);
      await eventually(() => listener.sessions.size === 1, "the end of all but the one with a stream");
      kept.call.cancel();
      await kept.status;
    });
  });

  it("refuses headers beyond the limit also before SETTINGS are acknowledged, and says what the limit is", async () => {
    const listener = await listen({
      limits: { maxHeaderBytes: kibibyte },
      grpc: { onStream: () => expect.fail("the stream was let in") },
      http: () => expect.fail("the request was let in"),
    });
    const session = http2Client(listener);
    const large = "x".repeat(kibibyte);
    // Both leave before the server's SETTINGS arrive.
    const grpc = answerOf(session.request({ ...grpcHeaders("/t.T/Hold"), large }));
    const other = answerOf(session.request({ ":path": "/", large }, { endStream: true }));
    const { headers } = await grpc;
    expect(headers["grpc-status"]).to.equal(String(status.RESOURCE_EXHAUSTED));
    expect(headers["grpc-message"]).to.contain("at most 1024 are allowed");
    expect((await other).headers[":status"]).to.equal(431);
  });

  it("reports a connection that has as many streams as it may have", async () => {
    let count = 0;
    const listener = await serve([hold], {
      limits: { maxStreamsPerConnection: 3 },
      onStreamLimit: () => count++,
    });
    const session = http2Client(listener);
    await once(session, "remoteSettings");
    const streams = Array.from({ length: 4 }, () => session.request(grpcHeaders("/t.T/Hold")));
    await eventually(() => count === 1, "the third stream");
    streams[0]?.close();
    await eventually(() => count === 2, "the fourth, which has waited");
  });
});
