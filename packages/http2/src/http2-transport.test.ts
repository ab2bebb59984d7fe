import { once } from "node:events";
import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { bidiStreaming, frameMessage, type ResponseStream } from "@bunting/rpc";
import type { PortListener } from "@bunting/server";
import type { TransportSession } from "./transport.js";
import {
  answerOf,
  bytesStreaming,
  bytesUnary,
  BytesClient,
  deferred,
  eventually,
  grpcHeaders,
  http2Client,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";
import { resetSocket } from "@bunting/test/support/reset-socket.js";

const path = "/t.T/Hold";
const echo = bytesUnary("/t.T/Echo", (request) => request);
const frame = (bytes: number): Buffer => frameMessage(Buffer.alloc(bytes, "x"));
const unavailable = { code: "UNAVAILABLE", message: "moving elsewhere" } as const;

/** A server whose streams are held until the test acts on them. */
async function holding(
  options: Parameters<typeof serve>[1] = {},
): Promise<{ listener: PortListener; held: ResponseStream[]; nextHeld: () => Promise<ResponseStream> }> {
  const held: ResponseStream[] = [];
  const listener = await serve(
    [
      bytesStreaming(path, (_request, out) => {
        out.sendHeaders();
        held.push(out);
      }),
      echo,
    ],
    options,
  );
  let taken = 0;
  return {
    listener,
    held,
    nextHeld: async () => {
      const index = taken++;
      await eventually(() => held.length > index, "the stream to arrive");
      const out = held[index];
      if (out === undefined) throw new Error("no stream is held");
      return out;
    },
  };
}

/** A stream of a client whose window is 0 bytes. */
async function stalled(listener: PortListener): Promise<RawClient> {
  const client = await rawClient(listener);
  client.send(wire.subscribe(path, { 4: 0 }));
  return client;
}

describe("Http2Transport", () => {
  releaseAfterEach();

  describe("write", () => {
    it("calls back without an error when flow control has taken the frame", async () => {
      const { listener, nextHeld } = await holding();
      const probe = new BytesClient(listener).stream(path);
      const out = await nextHeld();
      const results: (Error | undefined)[] = [];
      for (let message = 0; message < 3; message += 1) out.write(frame(10), (error) => results.push(error));
      await eventually(() => results.length === 3);
      expect(results).to.deep.equal([undefined, undefined, undefined]);
      await eventually(() => probe.messages.length === 3);
    });

    it("does not call back while the peer's window is shut, and does once it opens", async () => {
      const { listener, nextHeld } = await holding();
      const client = await stalled(listener);
      const out = await nextHeld();
      const results: (Error | undefined)[] = [];
      out.write(frame(10), (error) => results.push(error));
      // A PING sent after the write has been answered: by then the engine has tried to send the frame.
      client.send(Buffer.concat([wire.settingsAck(), wire.ping()]));
      await eventually(() => client.hasFrame(wire.type.ping));
      expect(results).to.deep.equal([]);
      client.send(wire.windowUpdate(1, 100));
      await eventually(() => results.length === 1);
      expect(results).to.deep.equal([undefined]);
    });

    for (const [how, end] of Object.entries<(client: RawClient, out: ResponseStream) => void>({
      "the client resets the stream": (client) => client.send(wire.rstStream(1)),
      "the connection drops": (client) => resetSocket(client.socket),
      "the client closes its half": (client) => client.socket.end(),
      "we reset the stream": (_client, out) => out.stream.reset("REFUSED_STREAM"),
      "we drop the connection": (_client, out) => out.stream.session.destroy(),
    })) {
      it(`calls back each pending write once with an error when ${how}`, async () => {
        const { listener, nextHeld } = await holding();
        const client = await stalled(listener);
        const out = await nextHeld();
        const results: string[] = [];
        for (const name of ["first", "second", "third"]) {
          out.write(frame(100_000), (error) => results.push(`${name} ${error instanceof Error}`));
        }
        let closes = 0;
        out.onClose(() => (closes += 1));
        end(client, out);
        await eventually(() => results.length === 3 && closes === 1);
        out.write(frame(10), (error) => results.push(`late ${error instanceof Error}`));
        expect(results, "never from within write").to.have.length(3);
        await eventually(() => results.length === 4);
        await listener.close();
        expect(results).to.deep.equal(["first true", "second true", "third true", "late true"]);
        expect(closes).to.equal(1);
        expect(out.stream.isOpen).to.equal(false);
      });
    }

    it("shares one frame among streams without copying or changing it", async () => {
      const { listener, nextHeld } = await holding();
      const client = new BytesClient(listener);
      const probes = Array.from({ length: 20 }, () => client.stream(path));
      const shared = frame(70_000);
      const before = Buffer.from(shared);
      await Promise.all(probes.map(async () => (await nextHeld()).write(shared)));
      await eventually(() => probes.every(({ messages }) => messages.length === 1));
      expect(probes.every(({ messages }) => messages[0]?.equals(before.subarray(5)))).to.equal(true);
      expect(shared.equals(before)).to.equal(true);
    });
  });

  describe("pauseReading", () => {
    const bidi = "/t.T/Bidi";
    const message = frame(10_000);
    let listener: PortListener;
    let client: RawClient;
    let out: ResponseStream;
    let received: number;
    let hasEnded: boolean;
    let isClosed: boolean;

    beforeEach(async () => {
      received = 0;
      hasEnded = false;
      isClosed = false;
      const streams: ResponseStream[] = [];
      listener = await serve([
        bidiStreaming<Uint8Array>({
          path: bidi,
          decode: (bytes) => bytes,
          handle: (opened) => {
            streams.push(opened);
            opened.onClose(() => (isClosed = true));
            return {
              onMessage: () => (received += 1),
              onEnd: () => (hasEnded = true),
            };
          },
        }),
      ]);
      client = await rawClient(listener);
      client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck(), wire.headers(1, bidi)]));
      client.send(wire.data(1, message, 0));
      await eventually(() => received === 1);
      const [opened] = streams;
      if (opened === undefined) throw new Error("no stream was opened");
      out = opened;
      out.stream.pauseReading();
      out.stream.pauseReading();
      client.send(Buffer.concat([wire.data(1, message, 0), wire.data(1, message, 0)]));
      await answersPing();
    });

    /** By then everything sent before was read from the socket. */
    async function answersPing(): Promise<void> {
      const before = client.frames(wire.type.ping);
      client.send(wire.ping());
      await eventually(() => client.frames(wire.type.ping) > before);
    }

    it("delivers nothing, nor the request's end, until reading is resumed", async () => {
      client.send(wire.data(1, Buffer.alloc(0)));
      await answersPing();
      expect(received).to.equal(1);
      expect(hasEnded).to.equal(false);
      out.stream.resumeReading();
      out.stream.resumeReading();
      await eventually(() => received === 3 && hasEnded);
    });

    /** Sends as much as is taken, but no more than 20 messages; returns how many bytes of them were not taken. */
    async function fill(): Promise<number> {
      const sentBytes = 3 * (message.length + 5);
      let leftBytes = 20 * message.length;
      for (let window = 65_535 - sentBytes; window > message.length && leftBytes > 0; window += opened(1)) {
        client.received = "";
        client.send(wire.data(1, message, 0));
        window -= message.length;
        leftBytes -= message.length;
        await answersPing();
      }
      return leftBytes;
    }

    it("opens the window of the connection to other streams, but that of the stream no more after two windows", async () => {
      expect(await fill(), "bytes that were not taken").to.be.above(0);
      expect(received).to.equal(1);
    });

    it("charges as much as the stream may hold meanwhile", async () => {
      const heldBytes = 22 * message.length - (await fill());
      const { account } = out.stream.session;
      const pausedBytes = account.bytes;
      out.stream.resumeReading();
      await eventually(() => received === 1 + heldBytes / message.length);
      const chargedBytes = pausedBytes - account.bytes;
      expect(chargedBytes).to.be.within(heldBytes, 2 * heldBytes);
    });

    /** By how much the windows of a stream were opened by what the client has received. */
    function opened(streamId: number): number {
      const bytes = Buffer.from(client.received, "latin1");
      let sum = 0;
      for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
        if (bytes[at + 3] === 8 && bytes.readUInt32BE(at + 5) === streamId) sum += bytes.readUInt32BE(at + 9);
      }
      return sum;
    }

    for (const [how, end] of Object.entries<() => void>({
      "it is ended": () => out.end(unavailable),
      "it is reset": () => out.stream.reset("REFUSED_STREAM"),
      "the client resets it": () => client.send(wire.rstStream(1)),
      "the client resets it without an error": () => client.send(wire.frame(3, 0, 1, Buffer.alloc(4))),
      "the client goes away": () => client.socket.destroy(),
    })) {
      it(`keeps no stream open when ${how}`, async () => {
        end();
        await eventually(() => isClosed);
        expect(received).to.equal(1);
        out.stream.resumeReading();
        out.stream.pauseReading();
      });
    }
  });

  describe("the end of a stream", () => {
    it("is reported once when its trailers were sent", async () => {
      const { listener, nextHeld } = await holding();
      const probe = new BytesClient(listener).stream(path);
      const out = await nextHeld();
      let closes = 0;
      out.onClose(() => (closes += 1));
      out.end(unavailable);
      out.end({ code: "OK", message: "too late" });
      expect((await probe.status).code).to.equal(status.UNAVAILABLE);
      await eventually(() => closes === 1);
      out.onClose(() => (closes += 1));
      expect(closes, "at once for a stream that has ended").to.equal(2);
    });

    it("may be trailers only", async () => {
      const request = http2Client(
        await serve([bytesStreaming(path, (_request, out) => out.end(unavailable))]),
      ).request(grpcHeaders(path));
      request.end(frame(0));
      const { headers, body } = await answerOf(request);
      expect(headers).to.include({ ":status": 200, "grpc-status": "14", "grpc-message": "moving elsewhere" });
      expect(body).to.have.length(0);
    });

    it("is UNAVAILABLE to grpc-js if a stalled stream is reset with REFUSED_STREAM", async () => {
      const { listener, nextHeld } = await holding();
      const client = new BytesClient(listener, {
        "grpc.enable_retries": 0,
        "grpc.max_receive_message_length": -1,
      });
      const probe = client.stream(path);
      await probe.headers;
      probe.call.pause();
      const out = await nextHeld();
      // More than the client buffers while its application does not read.
      let written = 0;
      for (let message = 0; message < 150; message += 1) out.write(frame(1_000_000), () => (written += 1));
      await eventually(() => written > 0);
      out.stream.reset("REFUSED_STREAM");
      probe.call.resume();
      expect((await probe.status).code).to.equal(status.UNAVAILABLE);
      expect(probe.messages.length).to.be.below(150);
    });

    it("is UNAVAILABLE to grpc-js if its connection is destroyed", async () => {
      const { listener, nextHeld } = await holding();
      const probe = new BytesClient(listener, { "grpc.enable_retries": 0 }).stream(path);
      await probe.headers;
      (await nextHeld()).stream.session.destroy();
      expect((await probe.status).code).to.equal(status.UNAVAILABLE);
    });
  });

  describe("goaway", () => {
    it("lets an open stream receive a message and its trailers, and moves the next call to a new connection", async () => {
      const sessions: TransportSession[] = [];
      const held: ResponseStream[] = [];
      const listener = await serve(
        [
          bytesStreaming(path, (_request, out) => {
            out.sendHeaders();
            held.push(out);
          }),
        ],
        { server: { onSession: (session) => sessions.push(session) } },
      );
      const client = new BytesClient(listener);
      const probe = client.stream(path);
      await probe.headers;
      const [first] = held;
      first?.stream.session.goaway();
      await new Promise<void>((resolve) => first?.write(frame(3), () => resolve()));
      first?.end(unavailable);
      expect((await probe.status).code).to.equal(status.UNAVAILABLE);
      expect(probe.messages).to.have.length(1);
      const next = client.stream(path);
      await next.headers;
      expect(held[1]?.stream.session).to.equal(sessions[1]);
      expect(sessions[1]).not.to.equal(sessions[0]);
      await eventually(() => sessions[0]?.isOpen === false, "the empty connection to close by itself");
    });

    it("closes a connection without streams", async () => {
      const listener = await serve([echo]);
      await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("x"));
      const [session] = listener.sessions;
      const closed = new Promise<void>((resolve) => session?.onClose(resolve));
      session?.goaway();
      await closed;
      expect(session?.isOpen).to.equal(false);
    });

    it("leaves the session able to ping", async () => {
      const { listener, nextHeld } = await holding();
      new BytesClient(listener).stream(path);
      const { session } = (await nextHeld()).stream;
      session.goaway();
      const error = await new Promise((resolve) => expect(session.ping(resolve)).to.equal(true));
      expect(error).to.equal(undefined);
    });
  });

  describe("ping", () => {
    it("allows one outstanding per session and is answered", async () => {
      const { listener, nextHeld } = await holding();
      new BytesClient(listener).stream(path);
      const { session } = (await nextHeld()).stream;
      for (let round = 0; round < 15; round += 1) {
        const acked = deferred<Error | undefined>();
        expect(session.ping(acked.resolve)).to.equal(true);
        expect(session.ping(() => expect.fail("a second ping was sent"))).to.equal(false);
        expect(await acked.promise).to.equal(undefined);
      }
    });

    it("ends with an error when the connection does", async () => {
      const { listener, nextHeld } = await holding();
      const client = await stalled(listener);
      const { session } = (await nextHeld()).stream;
      const acked = deferred<Error | undefined>();
      expect(session.ping(acked.resolve)).to.equal(true);
      resetSocket(client.socket);
      expect(await acked.promise).to.be.instanceOf(Error);
      expect(session.ping(() => undefined)).to.equal(false);
    });

    it("of the client is answered more than ten times", async () => {
      const session = http2Client(await serve([echo]), { maxOutstandingPings: 50 });
      await once(session, "connect");
      const acks = Array.from(
        { length: 50 },
        () => new Promise<Error | null>((resolve) => session.ping((error) => resolve(error))),
      );
      expect(await Promise.all(acks)).to.deep.equal(Array(50).fill(null));
    });
  });

  it("knows its peer's address and window", async () => {
    const { listener, nextHeld } = await holding();
    const client = await rawClient(listener);
    client.send(wire.subscribe(path, { 4: 4 * 1024 * 1024 }));
    const { session } = (await nextHeld()).stream;
    expect(session.remoteAddress).to.equal("127.0.0.1");
    expect(session.peerWindowBytes).to.equal(4 * 1024 * 1024);
    await stalled(listener);
    expect((await nextHeld()).stream.session.peerWindowBytes).to.equal(0);
  });

  it("drops a connection whose peer stopped reading, and releases its memory", async () => {
    const { listener, nextHeld } = await holding();
    const client = await rawClient(listener);
    client.send(
      Buffer.concat([wire.subscribe(path, { 4: 2 ** 31 - 1 }), wire.windowUpdate(0, 2 ** 31 - 70_000)]),
    );
    const out = await nextHeld();
    client.socket.pause();
    const results: boolean[] = [];
    for (let message = 0; message < 40; message += 1) {
      out.write(frame(1_000_000), (error) => results.push(error instanceof Error));
    }
    await eventually(() => results.length > 0);
    const { session } = out.stream;
    const closed = new Promise<void>((resolve) => session.onClose(resolve));
    out.stream.reset("REFUSED_STREAM");
    await eventually(
      () => results.length === 40,
      "the callbacks of a reset stream, though the RST_STREAM can't leave",
    );
    session.destroy();
    await closed;
    expect(results.at(-1)).to.equal(true);
    expect(listener.sessions.size).to.equal(0);
  });

  describe("against clients that misbehave", () => {
    /** The server must still serve other clients. */
    async function expectServing(listener: PortListener): Promise<void> {
      expect(String(await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("still here")))).to.equal(
        "still here",
      );
    }

    it("refuses streams above the limit", async () => {
      const { listener, held } = await holding({ limits: { maxStreamsPerConnection: 3 } });
      const client = await rawClient(listener);
      client.send(Buffer.concat([wire.preface, wire.settings()]));
      await eventually(() => client.received.length > 0);
      client.send(wire.settingsAck());
      for (let id = 1; id <= 9; id += 2)
        client.send(Buffer.concat([wire.headers(id, path), wire.data(id, Buffer.alloc(5))]));
      // nghttp2 refuses the stream in Node 20, and in Node 24 ends the connection of a peer that has acknowledged the limit.
      await eventually(
        () => client.hasFrame(wire.type.rstStream) || client.hasFrame(wire.type.goaway),
        "a RST_STREAM or a GOAWAY",
      );
      expect(held).to.have.length(3);
      await expectServing(listener);
    });

    it("refuses headers above the limit", async () => {
      const { listener, held } = await holding({ limits: { maxHeaderBytes: 4_096 } });
      const session = http2Client(listener);
      await once(session, "remoteSettings");
      const fits = session.request({ ...grpcHeaders("/t.T/Echo"), "x-long": "y".repeat(2_000) });
      fits.end(frame(1));
      expect((await answerOf(fits)).trailers["grpc-status"]).to.equal("0");
      const tooLong = session.request({ ...grpcHeaders(path), "x-long": "y".repeat(10_000) });
      expect((await answerOf(tooLong)).headers[":status"]).to.equal(undefined);
      expect(held).to.have.length(0);
      await expectServing(listener);
    });

    it("stops accepting streams from one that opens and resets them endlessly", async () => {
      const { listener, held } = await holding();
      const client = await rawClient(listener);
      client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck()]));
      const burst: Buffer[] = [];
      for (let id = 1; id < 20_000; id += 2) {
        burst.push(wire.headers(id, path), wire.data(id, Buffer.alloc(5)), wire.rstStream(id));
      }
      client.send(Buffer.concat(burst));
      await eventually(() => client.hasFrame(wire.type.goaway), "a GOAWAY");
      expect(held.length).to.be.below(2_000);
      await expectServing(listener);
    });

    it("ends the connection of one that floods with pings and does not read the answers", async () => {
      const { listener } = await holding();
      const client = await rawClient(listener);
      client.socket.pause();
      client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck()]));
      const pings = Buffer.concat(Array<Buffer>(10_000).fill(wire.ping()));
      await eventually(() => listener.sessions.size === 1);
      const isDropped = (): boolean => listener.sessions.size === 0;
      const dropped = deferred<undefined>();
      for (const session of listener.sessions) session.onClose(() => dropped.resolve(undefined));
      // More than the sockets' buffers hold: then the answers queue up in the server.
      for (let round = 0; round < 200 && !isDropped(); round += 1) {
        if (!client.socket.write(pings)) {
          await Promise.race([
            new Promise((resolve) => client.socket.once("drain", resolve)),
            dropped.promise,
          ]);
        }
      }
      await eventually(isDropped, "the connection to be dropped");
      await expectServing(listener);
    });

    for (const [what, bytes] of Object.entries({
      "garbage after the preface": Buffer.concat([wire.preface, Buffer.alloc(200, 0xff)]),
      "a frame of an impossible length": Buffer.concat([
        wire.preface,
        wire.settings(),
        Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
      ]),
      "a header block that is no HPACK": Buffer.concat([
        wire.preface,
        wire.settings(),
        wire.frame(1, 5, 1, Buffer.alloc(20, 0xff)),
      ]),
      "data on a stream that was never opened": Buffer.concat([
        wire.preface,
        wire.settings(),
        wire.data(7, Buffer.alloc(5)),
      ]),
      "a window that overflows": Buffer.concat([
        wire.subscribe(path),
        wire.windowUpdate(0, 2 ** 31 - 1),
        wire.windowUpdate(0, 2 ** 31 - 1),
      ]),
    })) {
      it(`sends GOAWAY to one that sends ${what}`, async () => {
        const { listener } = await holding();
        const client = await rawClient(listener);
        client.send(bytes);
        await eventually(() => client.hasFrame(wire.type.goaway), "a GOAWAY");
        await expectServing(listener);
      });
    }

    it("survives connections that vanish after any byte of an opening", async () => {
      const { listener, held } = await holding();
      const opening = wire.subscribe(path);
      for (let length = 1; length < opening.length; length += 3) {
        const client = await rawClient(listener);
        client.send(opening.subarray(0, length));
        resetSocket(client.socket);
      }
      await eventually(() => listener.sessions.size === 0 && held.every(({ stream }) => !stream.isOpen));
      await expectServing(listener);
    });
  });
});
