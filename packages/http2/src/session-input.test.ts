import { expect } from "chai";
import { connectionBytes } from "@bunting/server/internal/limits/peer-account.js";
import { streamBytes } from "./account.js";
import { type DropReason, type PortListener, ReadFairness } from "@bunting/server";
import type { TransportStream } from "./transport.js";
import {
  answerOf,
  eventually,
  http2Client,
  listen,
  rawClient,
  releaseAfterEach,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

describe("what a client sends", () => {
  releaseAfterEach();

  let dropped: DropReason[];
  let streams: TransportStream[];
  let listener: PortListener;
  let client: RawClient;
  let onStream: (stream: TransportStream) => void;

  beforeEach(async () => {
    dropped = [];
    streams = [];
    onStream = () => undefined;
    listener = await listen({
      onDropped: (reason) => dropped.push(reason),
      grpc: {
        onStream: (stream) => {
          streams.push(stream);
          onStream(stream);
        },
      },
      http: (request, response) => response.end(request.headers.host),
    });
    client = await rawClient(listener);
  });

  const unknown = wire.frame(0x42, 0, 0, Buffer.alloc(3));

  it("may have frames of unknown types after SETTINGS only", async () => {
    client.send(Buffer.concat([wire.preface, wire.settings(), unknown, wire.ping()]));
    await eventually(() => client.hasFrame(wire.type.ping), "the answer to PING");
    const other = await rawClient(listener);
    other.send(Buffer.concat([wire.preface, unknown, wire.settings()]));
    await other.closed;
    expect(dropped).to.deep.equal(["protocol_error"]);
  });

  it("sets the window of streams once for all settings of a frame", async () => {
    onStream = (stream) => stream.write(Buffer.alloc(1_000));
    const windows = [70_000, 0, 2 ** 31 - 1, 100].map((bytes) => wire.settings({ 4: bytes }).subarray(9));
    client.send(Buffer.concat([wire.preface, wire.settings({ 4: 0 }), wire.headers(1, "/t.T/Any")]));
    await eventually(() => client.hasFrame(wire.type.headers), "the headers of the answer");
    const before = client.received.length;
    client.send(wire.frame(4, 0, 0, Buffer.concat(windows)));
    await eventually(() => client.received.length >= before + 9 + 9 + 100, "what the last window allows");
    client.send(wire.ping());
    await eventually(() => client.hasFrame(wire.type.ping), "the answer to PING");
    expect(client.received.length).to.equal(before + 9 + 9 + 100 + 17);
    expect(listener.sessions.values().next().value?.peerWindowBytes).to.equal(100);
    const invalid = [wire.settings({ 4: 2 ** 31 }), wire.settings({ 4: 100 })];
    client.send(wire.frame(4, 0, 0, Buffer.concat(invalid.map((frame) => frame.subarray(9)))));
    await client.closed;
    expect(dropped).to.deep.equal(["protocol_error"]);
  });

  it("is not read on after the connection was destroyed", async () => {
    onStream = ({ session }) => session.destroy();
    const requests = [1, 3, 5].map((id) => wire.headers(id, "/t.T/Any"));
    client.send(Buffer.concat([wire.preface, wire.settings(), ...requests]));
    await client.closed;
    expect(streams).to.have.length(1);
  });

  it("is handled in later turns from where the connection has spent several times its share, in order", async () => {
    const due: (() => void)[] = [];
    const turns = new ReadFairness({
      perConnection: 2,
      perTurn: 1_000,
      afterTurn: (callback) => void due.push(callback),
    });
    const opened: string[] = [];
    const greedy = await listen({ turns, grpc: { onStream: ({ path }) => void opened.push(path) } });
    const paths = Array.from({ length: 60 }, (_, index) => `/t.T/Any${index}`);
    const requests = paths.map((path, index) => wire.headers(1 + 2 * index, path));
    (await rawClient(greedy)).send(Buffer.concat([wire.preface, wire.settings(), ...requests]));
    await eventually(() => opened.length > 0, "the first requests");
    const other = await rawClient(greedy);
    other.send(Buffer.concat([wire.preface, wire.settings(), wire.ping()]));
    await eventually(() => other.hasFrame(wire.type.ping), "the answer to another connection");
    expect(opened.length).to.be.within(1, 9);
    const [session] = greedy.sessions;
    expect(session?.isReadingPaused).to.equal(true);
    const heldBytes = session?.account.bytes ?? 0;
    await eventually(() => {
      const before = opened.length;
      for (const callback of due.splice(0)) callback();
      expect(opened.length - before, "in one turn").to.be.lessThan(10);
      return opened.length === paths.length;
    }, "all requests");
    expect(opened).to.deep.equal(paths);
    // The streams are charged, and the chunk is no longer.
    expect(heldBytes).to.be.greaterThan(9 * streamBytes);
    for (const stream of session?.streams ?? []) stream.reset("CANCEL");
    expect(session?.account.bytes).to.be.lessThan(connectionBytes + 1_000);
  });

  describe("in a turn that does not end", () => {
    let due: (() => void)[];
    let patient: PortListener;

    beforeEach(async () => {
      due = [];
      const turns = new ReadFairness({
        perConnection: 250,
        perTurn: 10_000,
        afterTurn: (callback) => void due.push(callback),
      });
      patient = await listen({ turns, grpc: { onStream: () => undefined } });
      client = await rawClient(patient);
      client.send(Buffer.concat([wire.preface, wire.settings()]));
      await eventually(() => patient.sessions.size === 1, "the connection");
    });

    const isHeld = (): boolean => [...patient.sessions].some(({ isReadingPaused }) => isReadingPaused);

    it("is held because of its bytes, whatever they are", async () => {
      const large = wire.frame(0x42, 0, 0, Buffer.alloc(16_384));
      // Few frames, and more bytes than 250 requests are worth.
      client.send(Buffer.concat(Array.from({ length: 130 }, () => large)));
      await eventually(isHeld, "reading to be held");
    });

    it("is held because of SETTINGS that concern many streams", async () => {
      for (let id = 1; id < 400; id += 2) client.send(wire.headers(id, "/t.T/Any"));
      const streams = (): number => [...patient.sessions][0]?.streams.length ?? 0;
      await eventually(() => streams() === 200, "the streams");
      expect(isHeld()).to.equal(false);
      for (const callback of due.splice(0)) callback();
      // Fewer than are a flood.
      const settings = Array.from({ length: 90 }, (_, index) => wire.settings({ 4: 100 + index }));
      client.send(Buffer.concat(settings));
      await eventually(isHeld, "reading to be held");
    });
  });

  it("is a flood of SETTINGS even if each opens all streams by a byte", async () => {
    onStream = (stream) => stream.write(Buffer.alloc(10_000));
    client.send(Buffer.concat([wire.preface, wire.settings({ 4: 0 })]));
    for (let id = 1; id < 40; id += 2) client.send(wire.headers(id, "/t.T/Any"));
    await eventually(() => client.frames(wire.type.headers) === 20, "the headers of the answers");
    for (let bytes = 1; bytes < 1_000 && dropped.length === 0; bytes++) {
      const before = client.received.length;
      client.send(wire.settings({ 4: bytes }));
      await eventually(
        () => client.received.length >= before + 200 || dropped.length > 0,
        "what that allows",
      );
    }
    expect(dropped).to.deep.equal(["flood"]);
    await client.closed;
  });

  it("is answered as by the host of `:authority`, if `host` is another", async () => {
    const { body } = await answerOf(
      http2Client(listener).request({ ":path": "/", ":authority": "this.example", host: "other.example" }),
    );
    expect(body.toString()).to.equal("this.example");
  });

  it("is ignored on a stream that we have reset, and refused on one that it has ended itself", async () => {
    onStream = (stream) => stream.reset("CANCEL");
    const requests = [wire.headers(1, "/t.T/Any"), wire.data(1, Buffer.alloc(10), 0)];
    client.send(Buffer.concat([wire.preface, wire.settings(), ...requests, wire.ping()]));
    await eventually(() => client.hasFrame(wire.type.ping), "the answer to PING");
    expect(client.frames(wire.type.rstStream)).to.equal(1);
    onStream = () => undefined;
    client.send(
      Buffer.concat([wire.headers(3, "/t.T/Any"), wire.rstStream(3), wire.data(3, Buffer.alloc(10), 0)]),
    );
    await eventually(() => client.frames(wire.type.rstStream) === 2, "RST_STREAM");
  });

  it("is refused if it announces content and ends with its headers", async () => {
    const request = wire.headers(1, "/t.T/Any", { "content-length": "5" });
    request[4] = 5;
    const again = Buffer.from(request);
    again.writeUInt32BE(3, 5);
    client.send(Buffer.concat([wire.preface, wire.settings(), request, again]));
    await eventually(() => client.frames(wire.type.rstStream) === 2, "RST_STREAM for each");
    expect(streams).to.deep.equal([]);
  });

  it("ends the connection for an error even if the client does not read why", async () => {
    client.socket.pause();
    onStream = (stream) => stream.write(Buffer.alloc(1_000));
    client.send(Buffer.concat([wire.preface, wire.settings(), wire.frame(5, 4, 1)]));
    await eventually(() => dropped.length > 0);
    await eventually(() => listener.sessions.size === 0, "the connection to be ended");
    client.socket.resume();
    await client.closed;
  });
});
