import { expect } from "chai";
import { FrameReader } from "./frame-reader.js";
import { GrpcStream } from "./grpc-stream.js";
import type { Http2Stream, StreamOwner } from "./http2-stream.js";
import { OutgoingContent } from "./outgoing-content.js";
import type { RequestHead } from "./request-head.js";
import { SessionOutput } from "./session-output.js";
import { SharedSegments } from "./shared-segments.js";

const head = { bytes: 300, fields: [], text: () => undefined } as unknown as RequestHead;

/** A connection with one stream, whose response headers are sent, and a system that takes what is written when it is told to. */
class Connection {
  readonly writes: Uint8Array[] = [];
  readonly output: SessionOutput;
  readonly stream: GrpcStream;
  charged = 0;
  /** Calls of the socket's `write`. */
  calls = 0;
  /** True: nothing that is written is taken before `take`. */
  isFull = true;
  #untaken: (() => void)[] = [];

  readonly socket = {
    destroyed: false,
    writable: true,
    writableLength: 0,
    errored: null as Error | null,
    cork: () => undefined,
    uncork: () => undefined,
    write: (bytes: Uint8Array, onSent?: () => void) => {
      this.calls++;
      if (bytes.length > 0) this.writes.push(bytes);
      if (this.isFull) this.socket.writableLength += bytes.length;
      this.#untaken.push(() => {
        this.socket.writableLength = 0;
        onSent?.();
      });
    },
  };

  constructor(streamId = 1, isEncrypted = false) {
    const account = {
      charge: (bytes: number) => (this.charged += bytes),
      release: (bytes: number) => (this.charged -= bytes),
    };
    const owner = { account, isEncrypted, lastStreamId: 0, isDone: false, spend: () => undefined };
    this.output = new SessionOutput(this.socket as never, owner as never);
    const session = {
      account,
      isOpen: true,
      peerWindowBytes: 65_535,
      stallClock: { tick: 0 },
      grpcHeaders: { responseHeaders: () => ({ ":status": "200" }) },
      queue: (stream: Http2Stream) => this.output.queue(stream),
      sendNow: (stream: Http2Stream, content: Uint8Array) => this.output.sendNow(stream, content),
      removeStream: (stream: Http2Stream, bytes: number) => this.output.forget(stream, bytes),
    };
    this.stream = new GrpcStream(session as unknown as StreamOwner, streamId, head, true);
    this.stream.respond();
    this.output.flush();
    this.take();
    this.writes.length = 0;
    this.calls = 0;
  }

  /** The system takes what was written until now. */
  readonly take = (): void => {
    const untaken = this.#untaken;
    this.#untaken = [];
    for (const each of untaken) each();
  };

  /** The payloads of the DATA frames written so far. */
  get payloads(): Buffer[] {
    const payloads: Buffer[] = [];
    const reader = new FrameReader({
      hasEnough: false,
      onHeaders: () => undefined,
      onData: (streamId, piece) => {
        expect(streamId).to.equal(this.stream.id);
        payloads.push(Buffer.from(piece));
      },
      onFrame: () => undefined,
      onIgnored: () => undefined,
      onBufferedChange: () => undefined,
      onInvalid: (_code, reason) => expect.fail(reason),
    });
    reader.push(Buffer.concat(this.writes));
    return payloads;
  }
}

const nextTick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

describe("content that streams of several connections send", () => {
  const content = Buffer.alloc(40_000, "shared");

  function connections(count: number): Connection[] {
    return Array.from({ length: count }, () => new Connection());
  }

  /** A connection whose stream sends this content, which is shared already. */
  function another(shared: Uint8Array): Connection {
    for (const each of connections(2)) {
      each.stream.writeShared(shared);
      each.output.flush();
      each.take();
    }
    return new Connection();
  }

  it("is written as one buffer, the same one to each from the second on", () => {
    const [first, second, third] = connections(3) as [Connection, Connection, Connection];
    for (const { stream, output } of [first, second, third]) {
      stream.writeShared(content);
      output.flush();
    }
    expect(second.writes).to.have.length(1);
    expect(third.writes[0]).to.equal(second.writes[0]);
    for (const { payloads } of [first, second, third])
      expect(Buffer.concat(payloads).equals(content)).to.equal(true);
    expect(second.payloads.map(({ length }) => length)).to.deep.equal([16_384, 16_384, 7_232]);
  });

  it("is another buffer on streams of another id", () => {
    another(content).stream.writeShared(content);
    const [one, two] = [new Connection(3), new Connection(3)];
    for (const { stream } of [one, two]) stream.writeShared(content);
    expect(two.writes).to.have.length(1);
    expect(Buffer.concat(two.payloads).equals(content)).to.equal(true);
  });

  it("takes its bytes of both windows", () => {
    const connection = another(content);
    connection.stream.writeShared(content);
    connection.take();
    connection.stream.writeShared(content);
    connection.output.flush();
    expect(Buffer.concat(connection.payloads)).to.have.length(65_535);
    connection.take();
    connection.stream.widen(100_000);
    connection.output.flush();
    expect(Buffer.concat(connection.payloads), "the connection's is used up").to.have.length(65_535);
    connection.output.widen(100_000);
    connection.output.flush();
    expect(Buffer.concat(connection.payloads)).to.have.length(80_000);
    connection.take();
    connection.stream.writeShared(content);
    expect(Buffer.concat(connection.payloads)).to.have.length(120_000);
  });

  it("is queued if either window does not allow all of it, and what the windows allow is sent", () => {
    for (const [narrow, wide] of [
      [(by: Connection) => by.stream, (by: Connection) => by.output],
      [(by: Connection) => by.output, (by: Connection) => by.stream],
    ] as const) {
      const connection = another(content);
      wide(connection).widen(1_000_000);
      connection.stream.writeShared(content);
      connection.take();
      connection.stream.writeShared(content);
      expect(connection.writes).to.have.length(1);
      connection.output.flush();
      expect(Buffer.concat(connection.payloads)).to.have.length(65_535);
      connection.take();
      narrow(connection).widen(1_000_000);
      connection.output.flush();
      expect(Buffer.concat(connection.payloads)).to.have.length(80_000);
    }
  });

  it("does not pass by content that waits for the window of its stream", () => {
    const session = { account: undefined, stallClock: { tick: 0 } } as never;
    const outgoing = new OutgoingContent(session, 10);
    expect(outgoing.mayPass(10)).to.equal(true);
    outgoing.add(content, "none", undefined);
    expect(outgoing.mayPass(10)).to.equal(false);
  });

  it("is not stalled once the system has taken it", () => {
    const connection = another(content);
    connection.stream.writeShared(content);
    expect(connection.stream.isStalledSince(0)).to.equal(true);
    connection.take();
    expect(connection.stream.isStalledSince(0)).to.equal(false);
  });

  it("waits behind what the stream and its connection send already, and while the connection is read", () => {
    const own = Buffer.from("first");
    const ways: Record<string, (connection: Connection) => void> = {
      "content of the stream": ({ stream }) => stream.write(own),
      "a write": ({ stream, output }) => {
        stream.write(own);
        output.flush();
      },
      "another of its streams": ({ output }) => {
        output.queue({ isQueued: false, fill: () => 0 } as unknown as Http2Stream);
      },
      "frames of control": ({ output }) => output.control(Buffer.alloc(9, 4)),
      "what is being read": ({ output }) => output.beginReading(),
      GOAWAY: ({ output }) => output.goaway(),
    };
    for (const [way, begin] of Object.entries(ways)) {
      const connection = another(content);
      begin(connection);
      const before = connection.writes.length;
      connection.stream.writeShared(content);
      expect(connection.writes, way).to.have.length(before);
    }
    const connection = another(content);
    connection.stream.write(own);
    connection.stream.writeShared(content);
    connection.output.flush();
    connection.take();
    expect(Buffer.concat(connection.payloads).equals(Buffer.concat([own, content]))).to.equal(true);
  });

  it("is not written to a socket that has been ended or destroyed", () => {
    const connection = another(content);
    connection.socket.writable = false;
    connection.stream.writeShared(content);
    expect(connection.writes).to.have.length(0);
  });

  it("waits for the headers of the response", () => {
    const connection = another(content);
    const { output } = connection;
    const session = Object.create(connection.stream.session) as StreamOwner;
    const late = new GrpcStream(session, 1, head, true);
    late.writeShared(content);
    expect(connection.writes).to.have.length(0);
    output.flush();
    expect(connection.writes[0]?.[3], "HEADERS").to.equal(1);
  });

  it("calls back once the system has taken it, and then what was queued meanwhile is sent", () => {
    const connection = another(content);
    const results: string[] = [];
    connection.stream.writeShared(content, (error) => results.push(`first ${error?.message ?? "taken"}`));
    connection.stream.writeShared(Buffer.from("next"), (error) =>
      results.push(`next ${error?.message ?? "taken"}`),
    );
    expect(connection.stream.isStalledSince(0)).to.equal(true);
    expect(results).to.deep.equal([]);
    connection.take();
    expect(results).to.deep.equal(["first taken"]);
    expect(connection.stream.isStalledSince(0)).to.equal(true);
    connection.take();
    expect(results).to.deep.equal(["first taken", "next taken"]);
    expect(connection.stream.isStalledSince(0)).to.equal(false);
    expect(Buffer.concat(connection.payloads).subarray(-4).toString()).to.equal("next");
  });

  it("calls back in the next tick if the system takes it at once, and without another write", async () => {
    for (const isEncrypted of [false, true]) {
      another(content);
      const connection = new Connection(1, isEncrypted);
      connection.isFull = isEncrypted;
      let written = 0;
      connection.stream.writeShared(content, () => written++);
      expect(written).to.equal(0);
      await nextTick();
      expect(written, "TLS takes it later").to.equal(isEncrypted ? 0 : 1);
      connection.take();
      expect(written).to.equal(1);
      expect(connection.calls).to.equal(1);
    }
  });

  it("does not take a write that failed at once for one that the system took", async () => {
    const connection = another(content);
    connection.isFull = false;
    connection.socket.errored = new Error("EPIPE");
    let written = 0;
    connection.stream.writeShared(content, () => written++);
    await nextTick();
    expect(written).to.equal(0);
  });

  it("needs no callback of the system for other content either", async () => {
    const connection = new Connection();
    connection.isFull = false;
    let written = 0;
    connection.stream.write(Buffer.from("own"), () => written++);
    connection.output.flush();
    const { calls } = connection;
    await nextTick();
    expect(written).to.equal(1);
    expect(connection.calls).to.equal(calls);
  });

  it("calls back once with an error if the stream closes first, and charges the stream until the system has taken it", () => {
    const connection = another(content);
    const results: (string | undefined)[] = [];
    connection.stream.writeShared(content, (error) => results.push(error?.message));
    connection.stream.close();
    expect(results).to.deep.equal(["the stream ended before the frame was written"]);
    expect(connection.charged).to.be.greaterThan(head.bytes);
    connection.take();
    expect(results).to.have.length(1);
    expect(connection.charged).to.equal(0);
  });

  it("is charged to one of the connections that do not take it", () => {
    // Other tests hold segments of the other content.
    const own = Buffer.alloc(40_000);
    const [one, two, three] = [another(own), new Connection(), new Connection()];
    three.isFull = false;
    for (const { stream } of [one, two, three]) stream.writeShared(own);
    const bytes = one.writes[0]?.length;
    expect([one.charged, two.charged, three.charged]).to.deep.equal([bytes, 0, 0]);
    one.take();
    expect([one.charged, two.charged]).to.deep.equal([0, bytes]);
    two.take();
    expect(two.charged).to.equal(0);
  });
});

describe("content larger than a window that streams of several connections send", () => {
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));

  /** What this connection writes in each turn until all of the content is taken; the peer opens both windows by what it has got. */
  function sendAll({ stream, output, writes, take }: Connection): number[] {
    const turns: number[] = [];
    stream.writeShared(content);
    for (let sent = 0; sent < content.length;) {
      const before = writes.length;
      output.flush();
      turns.push(writes.length - before);
      const bytes = writes.slice(before).reduce((sum, { length }) => sum + length, 0);
      if (bytes === 0) break;
      sent += bytes;
      take();
      stream.widen(65_535);
      output.widen(65_535);
    }
    return turns;
  }

  function connection(streamId = 1, isFull = true): Connection {
    const made = new Connection(streamId);
    made.isFull = isFull;
    return made;
  }

  it("is written a window at a time, each as one buffer, the same one to each from the second on", () => {
    const [first, second, third] = [connection(), connection(), connection()];
    expect(sendAll(first)).to.deep.equal([8, 5]);
    expect([sendAll(second), sendAll(third)]).to.deep.equal([
      [1, 1],
      [1, 1],
    ]);
    expect(third.writes.map((bytes, index) => bytes === second.writes[index])).to.deep.equal([true, true]);
    for (const { payloads } of [first, second, third])
      expect(Buffer.concat(payloads).equals(content)).to.equal(true);
    expect(second.payloads.map(({ length }) => length)).to.deep.equal([
      16_384, 16_384, 16_384, 16_383, 16_384, 16_384, 1_697,
    ]);
  });

  it("is framed for a stream that does not send alone", () => {
    for (const each of [connection(), connection()]) sendAll(each);
    const other = { isQueued: false, fill: () => 0, canSend: false } as unknown as Http2Stream;
    const busy = connection();
    busy.stream.writeShared(content);
    busy.output.queue(other);
    busy.output.flush();
    const controlled = connection();
    controlled.output.control(Buffer.alloc(9, 4));
    controlled.stream.writeShared(content);
    controlled.output.flush();
    expect([busy.writes.length, controlled.writes.length]).to.deep.equal([8, 8]);
    expect(Buffer.concat(busy.payloads).equals(content.subarray(0, 65_535))).to.equal(true);
  });

  it("is framed where it is its own: nobody else sends that", () => {
    const [first, second] = [connection(), connection()];
    for (const { stream, output } of [first, second]) {
      stream.write(content);
      output.flush();
    }
    expect(second.writes).to.have.length(8);
  });

  it("is copied with its head where little is left of it, or of a window", () => {
    const [first, second, third] = [connection(), connection(), connection()];
    for (const { stream, output, take } of [first, second, third]) {
      stream.write(Buffer.alloc(64_000));
      output.flush();
      take();
      stream.writeShared(content);
      output.flush();
    }
    expect(Buffer.concat(third.payloads)).to.have.length(65_535);
    expect(third.writes.at(-1)).not.to.equal(second.writes.at(-1));
  });

  it("is charged to one of the connections that do not take it, until it does or has failed", () => {
    // Other tests hold segments of the other content.
    const own = Buffer.alloc(100_000);
    const [one, two, three] = [connection(), connection(), connection(1, false)];
    for (const { stream, output } of [connection(), one, two, three]) {
      stream.writeShared(own);
      output.flush();
    }
    const bytes = one.writes[0]?.length ?? 0;
    expect(bytes).to.be.greaterThan(65_535);
    expect([one.charged, two.charged, three.charged]).to.deep.equal([bytes, 0, 0]);
    one.take();
    expect([one.charged, two.charged]).to.deep.equal([0, bytes]);
    two.output.sent(new Error("EPIPE"));
    expect(two.charged).to.equal(0);
  });
});

describe("SharedSegments", () => {
  it("makes no segment of what one stream only sends", () => {
    const segments = new SharedSegments();
    for (let id = 1; id < 100; id += 2)
      expect(segments.get(Buffer.alloc(10_000), id, 0, 10_000)).to.equal(undefined);
    expect(segments.keptBytes).to.equal(0);
  });

  it("keeps those that were used last, up to 1 MiB", () => {
    const segments = new SharedSegments();
    const used = Buffer.alloc(50_000);
    segments.get(used, 1, 0, 50_000);
    const segment = segments.get(used, 1, 0, 50_000);
    for (let i = 0; i < 100; i++) {
      const other = Buffer.alloc(60_000);
      segments.get(other, 1, 0, 60_000);
      expect(segments.get(other, 1, 0, 60_000)).to.not.equal(undefined);
      expect(segments.get(used, 1, 0, 50_000)).to.equal(segment);
      expect(segments.keptBytes).to.be.at.most(1024 * 1024);
    }
    expect(segments.keptBytes).to.be.greaterThan(900_000);
  });

  it("makes one for each stream id and part", () => {
    const segments = new SharedSegments();
    const content = Buffer.from("0123456789");
    const parts = [
      [1, 0, 10],
      [3, 0, 10],
      [1, 0, 5],
      [1, 5, 10],
    ] as const;
    for (const [id, start, end] of parts) expect(segments.get(content, id, start, end)).to.equal(undefined);
    const texts = parts.map(([id, start, end]) => {
      const { bytes } = segments.get(content, id, start, end) ?? expect.fail();
      return `${bytes.readUInt32BE(5)} ${bytes.toString("latin1", 9)}`;
    });
    expect(texts).to.deep.equal(["1 0123456789", "3 0123456789", "1 01234", "1 56789"]);
  });
});
