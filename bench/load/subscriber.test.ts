import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { encodeDocument, syncV1 } from "@bunting/protocol";
import {
  firstSequence,
  readSequence,
  sequencedDocument,
  sequenceHeadBytes,
} from "../fixtures/sequenced-document.js";
import { FrameReader } from "./frame-reader.js";
import { frame, frameFlag, frameType } from "./http2-frames.js";
import { MessageReader } from "./message-reader.js";
import { Subscriber } from "./subscriber.js";

function messageOf(sequence: number, bytes: number): Uint8Array {
  const flagConfiguration = encodeDocument(sequencedDocument({ sequence, bytes }));
  return syncV1.SyncFlagsResponse.encode({ flagConfiguration, syncContext: {} }).finish();
}

function grpcFrame(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}

/** Reads HTTP/2 as a subscriber does and tells what came of it. */
function reading(): { frames: FrameReader; events: string[] } {
  const events: string[] = [];
  const messages = new MessageReader({
    readSequence,
    headBytes: sequenceHeadBytes,
    onMessage: (sequence, length) => events.push(`message ${sequence} of ${length}`),
    onError: (error) => events.push(`error ${error.message}`),
  });
  const frames = new FrameReader({
    onData: (bytes, start, end) => messages.push(bytes, start, end),
    onDataFrame: (bytes) => events.push(`data ${bytes}`),
    onSettings: () => events.push("settings"),
    onPing: (opaque) => events.push(`ping ${opaque.toString("latin1")}`),
    onEnd: (detail) => events.push(`end ${detail}`),
  });
  return { frames, events };
}

describe("bench: the load client reads HTTP/2", () => {
  const first = messageOf(firstSequence, 600);
  const second = messageOf(firstSequence + 1, 600);
  const payload = Buffer.concat([grpcFrame(first), grpcFrame(second)]);
  const padded = Buffer.concat([Buffer.of(7), payload.subarray(400), Buffer.alloc(7, 0xff)]);
  const wire = Buffer.concat([
    frame(frameType.settings, 0, 0, Buffer.alloc(18)),
    frame(frameType.settings, frameFlag.ack, 0, Buffer.alloc(0)),
    frame(frameType.headers, frameFlag.endHeaders, 1, Buffer.alloc(40, 0x88)),
    frame(frameType.ping, 0, 0, Buffer.from("12345678")),
    frame(frameType.data, 0, 1, payload.subarray(0, 400)),
    frame(frameType.data, frameFlag.padded, 1, padded),
    frame(frameType.ping, frameFlag.ack, 0, Buffer.from("ignored!")),
    frame(frameType.data, frameFlag.endStream, 1, Buffer.alloc(0)),
    frame(frameType.rstStream, 0, 1, Buffer.of(0, 0, 0, 7)),
    frame(frameType.goaway, 0, 0, Buffer.of(0, 0, 0, 1, 0, 0, 0, 11)),
  ]);
  const expected = [
    "settings",
    "ping 12345678",
    "data 400",
    `message ${firstSequence} of ${first.length}`,
    `message ${firstSequence + 1} of ${second.length}`,
    `data ${padded.length}`,
    "data 0",
    "end the end of the stream",
    "end RST_STREAM, code 7",
    "end GOAWAY, code 11",
  ];

  it("the same whatever pieces it comes in", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sizes) => {
        const { frames, events } = reading();
        // As on a socket, the memory that held one piece holds the next.
        const memory = Buffer.alloc(300);
        for (let at = 0, piece = 0; at < wire.length; piece++) {
          const size = sizes[piece % sizes.length] ?? 1;
          const copied = wire.copy(memory, 0, at, at + size);
          frames.push(memory, 0, copied);
          at += copied;
        }
        expect(events).to.deep.equal(expected);
      }),
    );
  });

  it("and sees a payload without a number, an empty one, and one it cannot read", () => {
    const { frames, events } = reading();
    const compressed = Buffer.concat([Buffer.of(1, 0, 0, 0, 1), Buffer.of(0)]);
    const data = Buffer.concat([
      grpcFrame(Buffer.from("no number here")),
      grpcFrame(new Uint8Array(0)),
      compressed,
    ]);
    const bytes = frame(frameType.data, 0, 1, data);
    frames.push(bytes, 0, bytes.length);
    expect(events).to.deep.equal([
      "message -1 of 14",
      "message -1 of 0",
      "error a message begins with 1: compressed, or not gRPC",
      "message -1 of 1",
      `data ${data.length}`,
    ]);
  });
});

describe("bench: a subscriber of the load client", () => {
  let server: Http2Server;
  let port: number;
  const received: string[] = [];
  let wake = (): void => undefined;
  let subscriber: Subscriber;
  const sessions: ServerHttp2Session[] = [];

  beforeEach(async () => {
    received.length = 0;
    server = createServer();
    server.on("session", (session) => sessions.push(session));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    subscriber.close();
    for (const session of sessions.splice(0)) session.destroy();
    server.close();
    await once(server, "close");
  });

  async function subscribe(
    windowBytes?: number,
  ): Promise<{ stream: ServerHttp2Stream; headers: Record<string, unknown> }> {
    const opened = once(server, "stream") as Promise<[ServerHttp2Stream, Record<string, unknown>]>;
    const note = (event: string): void => {
      received.push(event);
      wake();
    };
    subscriber = new Subscriber({
      host: "127.0.0.1",
      port,
      localAddress: "127.0.0.3",
      path: "/a.Service/Method",
      selector: `default/${"long-".repeat(40)}`,
      ...(windowBytes === undefined ? {} : { windowBytes }),
      readSequence,
      headBytes: sequenceHeadBytes,
      onMessage: (sequence, length) => note(`${sequence} of ${length}`),
      onEnd: (error) => note(error.message),
    });
    const [stream, headers] = await opened;
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    return { stream, headers };
  }

  async function untilReceived(count: number): Promise<void> {
    while (received.length < count) await new Promise<void>((resolve) => (wake = resolve));
  }

  it("sends a whole gRPC request that node:http2 understands", async () => {
    const { stream, headers } = await subscribe();
    expect(headers).to.include({
      ":method": "POST",
      ":path": "/a.Service/Method",
      "content-type": "application/grpc",
      te: "trailers",
      "flagd-selector": `default/${"long-".repeat(40)}`,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks)).to.deep.equal(Buffer.alloc(5));
    expect(stream.session?.socket.remoteAddress).to.equal("127.0.0.3");
  });

  for (const windowBytes of [65_535, 1_000_000]) {
    it(`gives windows of ${windowBytes} bytes back, so that payloads of several windows arrive, one after the other`, async () => {
      const { stream } = await subscribe(windowBytes);
      expect(stream.session?.remoteSettings.initialWindowSize ?? 65_535).to.be.oneOf([65_535, windowBytes]);
      const messages = [0, 1, 2].map((index) => messageOf(firstSequence + index, 2_500_000));
      for (const message of messages) stream.write(grpcFrame(message));
      await untilReceived(3);
      expect(received).to.deep.equal(
        messages.map(({ length }, index) => `${firstSequence + index} of ${length}`),
      );
    });
  }

  it("answers pings", async () => {
    const { stream } = await subscribe();
    const echoed = await new Promise((resolve, reject) =>
      stream.session?.ping(Buffer.from("12345678"), (error, _, payload) =>
        error ? reject(error) : resolve(payload),
      ),
    );
    expect(echoed).to.deep.equal(Buffer.from("12345678"));
  });

  it("tells once how its stream ended", async () => {
    const { stream } = await subscribe();
    stream.session?.goaway(11);
    await untilReceived(1);
    stream.session?.destroy();
    expect(received).to.deep.equal(["the server sent GOAWAY, code 11"]);
  });
});
