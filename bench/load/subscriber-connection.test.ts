import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { buntingSyncV1, encodeDocument, syncV1 } from "@bunting/protocol";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { FrameReader } from "./frame-reader.js";
import { frame, frameFlag, frameType } from "./http2-frames.js";
import { MessageReader } from "./message-reader.js";
import { SubscriberConnection } from "./subscriber-connection.js";
import { subscriberProtocol, type ProtocolName } from "./subscriber-protocol.js";

function messageOf(sequence: number, bytes: number): Uint8Array {
  const flagConfiguration = encodeDocument(sequencedDocument({ sequence, bytes }));
  return syncV1.SyncFlagsResponse.encode({ flagConfiguration, syncContext: {} }).finish();
}

function grpcFrame(message: Uint8Array, compression = 0): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt8(compression);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}

function versionOf(index: number): buntingSyncV1.Version {
  return {
    uid: "7ad1f3c4-20d6-4c57-a0b9-1f2d0a8e3c11",
    generation: String(300 * index),
    resourceVersion: `${1_000 + index}`,
    digest: Buffer.alloc(32, index),
  };
}

function flagJson(sequence: number): string {
  return `{"defaultVariant":"at","state":"ENABLED","variants":{"at":${sequence}}}`;
}

/** Reads HTTP/2 as a subscriber does, and reports the result. */
function reading(): { frames: FrameReader; events: string[] } {
  const events: string[] = [];
  const { readHead, headBytes } = subscriberProtocol("flagd", "default/bench");
  const messages = new MessageReader({
    readHead,
    headBytes,
    onMessage: ({ sequence }, length) => events.push(`message ${sequence} of ${length}`),
    onError: (error) => events.push(`error ${error.message}`),
  });
  const frames = new FrameReader({
    onData: (_, bytes, start, end) => messages.push(bytes, start, end),
    onDataFrame: (stream, bytes) => events.push(`data ${bytes} of ${stream}`),
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
    "data 400 of 1",
    `message ${firstSequence} of ${first.length}`,
    `message ${firstSequence + 1} of ${second.length}`,
    `data ${padded.length} of 1`,
    "data 0 of 1",
    "end the end of the stream",
    "end RST_STREAM, code 7",
    "end GOAWAY, code 11",
  ];

  it("with the same result whatever pieces it comes in", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sizes) => {
        const { frames, events } = reading();
        // As on a socket, the buffer of one piece is reused for the next.
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

  it("and reports a payload without a number, an empty one, and one that can't be read", () => {
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
      "error a message can't be read: Error: it is compressed, although gzip was not accepted",
      "message -1 of 1",
      `data ${data.length} of 1`,
    ]);
  });
});

const longSelector = `default/${"long-".repeat(40)}`;

describe("bench: a subscriber of the load client", () => {
  let server: Http2Server;
  let port: number;
  const received: string[] = [];
  let wake = (): void => undefined;
  let connection: SubscriberConnection;
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
    connection.close();
    for (const session of sessions.splice(0)) session.destroy();
    server.close();
    await once(server, "close");
  });

  async function subscribe(
    protocol: ProtocolName = "flagd",
    windowBytes?: number,
  ): Promise<{ stream: ServerHttp2Stream; headers: Record<string, unknown> }> {
    const opened = once(server, "stream") as Promise<[ServerHttp2Stream, Record<string, unknown>]>;
    const note = (event: string): void => {
      received.push(event);
      wake();
    };
    connection = new SubscriberConnection({
      host: "127.0.0.1",
      port,
      localAddress: "127.0.0.3",
      protocol: subscriberProtocol(protocol, protocol === "bunting" ? "default/bench" : longSelector),
      streams: 1,
      ...(windowBytes === undefined ? {} : { windowBytes }),
      onMessage: (_, { kind, sequence }, length) => note(`${kind} ${sequence} of ${length}`),
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
      ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags",
      "content-type": "application/grpc",
      te: "trailers",
      "flagd-selector": longSelector,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks)).to.deep.equal(Buffer.alloc(5));
    expect(stream.session?.socket.remoteAddress).to.equal("127.0.0.3");
  });

  for (const windowBytes of [65_535, 1_000_000]) {
    it(`updates windows of ${windowBytes} bytes, so that payloads larger than several windows arrive one after the other`, async () => {
      const { stream } = await subscribe("flagd", windowBytes);
      expect(stream.session?.remoteSettings.initialWindowSize ?? 65_535).to.be.oneOf([65_535, windowBytes]);
      const messages = [0, 1, 2].map((index) => messageOf(firstSequence + index, 2_500_000));
      for (const message of messages) stream.write(grpcFrame(message));
      await untilReceived(3);
      expect(received).to.deep.equal(
        messages.map(({ length }, index) => `document ${firstSequence + index} of ${length}`),
      );
    });
  }

  it("reads compressed payloads by their beginnings, equal and different ones, and accepts plain ones too", async () => {
    const { stream, headers } = await subscribe("flagd+gzip");
    expect(headers["grpc-accept-encoding"]).to.equal("identity,gzip");
    const [first, second] = [messageOf(firstSequence, 100_000), messageOf(firstSequence + 1, 100_000)];
    for (const message of [first, first, second]) stream.write(grpcFrame(gzipSync(message), 1));
    stream.write(grpcFrame(first));
    await untilReceived(4);
    expect(received).to.deep.equal([
      `gzip ${firstSequence} of ${gzipSync(first).length}`,
      `gzip ${firstSequence} of ${gzipSync(first).length}`,
      `gzip ${firstSequence + 1} of ${gzipSync(second).length}`,
      `document ${firstSequence} of ${first.length}`,
    ]);
  });

  it("speaks bunting.sync.v1: hello, subscribe, and an ack of number and digest for each version it read", async () => {
    const { stream } = await subscribe("bunting");
    const requests: buntingSyncV1.SyncRequest[] = [];
    let unread = Buffer.alloc(0);
    stream.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length >= 5 && unread.length >= 5 + unread.readUInt32BE(1)) {
        const end = 5 + unread.readUInt32BE(1);
        requests.push(buntingSyncV1.SyncRequest.decode(unread.subarray(5, end)));
        unread = unread.subarray(end);
        wake();
      }
    });
    const versions = [1, 2, 3].map((index) => versionOf(index));
    const document = Buffer.from(
      encodeDocument(sequencedDocument({ sequence: firstSequence, bytes: 2_000 })),
    );
    const responses: NonNullable<buntingSyncV1.SyncResponse["message"]>[] = [
      { $case: "missing", value: { topic: "default/bench" } },
      { $case: "snapshot", value: { topic: "default/bench", version: versions[0], document } },
      { $case: "heartbeat", value: {} },
      {
        $case: "delta",
        value: {
          topic: "default/bench",
          fromDigest: versionOf(1).digest,
          version: versions[1],
          flags: [
            { key: "0-bench-sequence", flag: Buffer.from(flagJson(firstSequence + 1)) },
            { key: "another", flag: Buffer.alloc(3_000, 0x20) },
          ],
          metadata: undefined,
          evaluators: undefined,
        },
      },
      { $case: "unchanged", value: { topic: "default/bench", version: versions[2] } },
    ];
    const lengths = responses.map((response) => {
      const message = buntingSyncV1.SyncResponse.encode({ message: response }).finish();
      stream.write(grpcFrame(message));
      return message.length;
    });
    while (requests.length < 5) await new Promise<void>((resolve) => (wake = resolve));
    expect(received).to.deep.equal([
      `other -1 of ${lengths[0]}`,
      `snapshot ${firstSequence} of ${lengths[1]}`,
      `other -1 of ${lengths[2]}`,
      `delta ${firstSequence + 1} of ${lengths[3]}`,
      `other -1 of ${lengths[4]}`,
    ]);
    const topic = "default/bench";
    expect(requests.map(({ message }) => message)).to.deep.equal([
      {
        $case: "hello",
        value: {
          ...{ agent: "bunting-bench", providerId: "", instance: undefined },
          ...{ isProxy: undefined, readsFreshness: undefined, readsTrials: undefined },
          sources: undefined,
        },
      },
      { $case: "subscribe", value: { topic, held: undefined, trialDigest: undefined } },
      ...versions.map(({ digest }, index) => ({
        $case: "ack",
        value: { topic, number: String([2, 4, 5][index]), digest, rejectedFlags: [] },
      })),
    ]);
  });

  it("updates the window of a connection for all of its streams together", async () => {
    const streams: ServerHttp2Stream[] = [];
    server.on("stream", (stream: ServerHttp2Stream) => {
      streams.push(stream);
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      for (const index of [0, 1]) stream.write(grpcFrame(messageOf(firstSequence + index, 100_000)));
    });
    const perStream = new Map<number, number[]>();
    let count = 0;
    await new Promise<void>((resolve, reject) => {
      connection = new SubscriberConnection({
        host: "127.0.0.1",
        port,
        protocol: subscriberProtocol("flagd", "default/bench"),
        streams: 20,
        onMessage: (stream, { sequence }) => {
          perStream.set(stream, [...(perStream.get(stream) ?? []), sequence]);
          if (++count === 40) resolve();
        },
        onEnd: reject,
      });
    });
    expect(streams.map(({ id }) => id)).to.deep.equal(
      Array.from({ length: 20 }, (_, index) => 2 * index + 1),
    );
    for (const sequences of perStream.values())
      expect(sequences).to.deep.equal([firstSequence, firstSequence + 1]);
  });

  it("answers pings", async () => {
    const { stream } = await subscribe();
    const echoed = await new Promise((resolve, reject) =>
      stream.session?.ping(Buffer.from("12345678"), (error, _, payload) =>
        error ? reject(error) : resolve(payload),
      ),
    );
    expect(echoed).to.deep.equal(Buffer.from("12345678"));
  });

  it("reports once how its stream ended", async () => {
    const { stream } = await subscribe();
    stream.session?.goaway(11);
    await untilReceived(1);
    stream.session?.destroy();
    expect(received).to.deep.equal(["the server sent GOAWAY, code 11"]);
  });
});
