import { expect } from "chai";
import { frameMessage, type ResponseStream } from "@bunting/rpc";
import type { PortListener } from "../port/port-listener.js";
import {
  bytesStreaming,
  bytesUnary,
  eventually,
  listen,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

const message = frameMessage(Buffer.alloc(1_000));
const unavailable = { code: "UNAVAILABLE", message: "moving elsewhere" } as const;

describe("the stall watch", () => {
  releaseAfterEach();

  let clock: ManualClock;
  let listener: PortListener;
  let client: RawClient;
  let stalled: number;
  let held: ResponseStream[];

  // A stall of 800 ms is noticed within 900 ms.
  async function start(path: string, timeoutMs = 800): Promise<void> {
    clock = new ManualClock();
    stalled = 0;
    held = [];
    const methods = [
      bytesUnary("/t.T/Echo", () => Buffer.alloc(1_000)),
      bytesStreaming("/t.T/Hold", (_request, out) => {
        out.sendHeaders();
        held.push(out);
      }),
    ];
    listener = await serve(methods, { stall: { timeoutMs, clock, onStreamStalled: () => (stalled += 1) } });
    client = await rawClient(listener);
    client.send(wire.subscribe(path, { 4: 0 }));
    client.send(wire.settingsAck());
    await eventually(() => client.hasFrame(wire.type.headers), "response headers");
  }

  it("resets the response to a unary call, and releases what it was charged", async () => {
    await start("/t.T/Echo");
    const [session] = listener.sessions;
    const before = session?.account.bytes ?? 0;
    clock.advance(800);
    expect(stalled).to.equal(0);
    clock.advance(100);
    await eventually(() => client.hasFrame(wire.type.rstStream), "RST_STREAM");
    expect(stalled).to.equal(1);
    expect((session?.account.bytes ?? 0) < before).to.equal(true);
  });

  it("resets a stream whose trailers wait for its last message", async () => {
    await start("/t.T/Hold");
    held[0]?.writeShared(message);
    held[0]?.end(unavailable);
    clock.advance(900);
    await eventually(() => client.hasFrame(wire.type.rstStream), "RST_STREAM");
  });

  it("leaves streams alone that owe nothing, and those that take a message now and then", async () => {
    await start("/t.T/Hold");
    clock.advance(10_000);
    let written = 0;
    for (let count = 1; count <= 5; count++) {
      held[0]?.writeShared(message, () => (written += 1));
      clock.advance(700);
      client.send(wire.windowUpdate(1, message.length));
      await eventually(() => written === count, "a message");
    }
    // A write without a callback ends unnoticed.
    client.send(wire.windowUpdate(1, message.length));
    held[0]?.writeShared(message);
    await eventually(() => client.received.length > 6 * message.length, "the last message");
    clock.advance(10_000);
    expect(stalled).to.equal(0);
    expect(client.hasFrame(wire.type.rstStream)).to.equal(false);
  });

  it("has node drop an HTTP/1.1 connection on which a response is not read", async () => {
    let isClosed = false;
    listener = await listen({
      http: (request, response) => {
        request.socket.once("close", () => (isClosed = true));
        // More than the system's buffers hold.
        response.end(Buffer.alloc(50_000_000));
      },
      stall: { timeoutMs: 100 },
    });
    client = await rawClient(listener);
    client.socket.pause();
    client.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await eventually(() => isClosed, "the end of the connection");
  });

  it("does nothing with a timeout of 0", async () => {
    await start("/t.T/Echo", 0);
    clock.advance(1_000_000);
    expect(clock.pendingTimers).to.equal(0);
    expect(stalled).to.equal(0);
  });
});
