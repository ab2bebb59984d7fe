import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { frameMessage, type ResponseStream } from "@bunting/rpc";
import type { DropReason, PortListener } from "@bunting/server";
import type { TransportStream } from "./transport.js";
import {
  bytesStreaming,
  eventually,
  listen,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";
import { GrpcStream } from "./grpc-stream.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import type { RequestHead } from "./request-head.js";
import { SessionOutput } from "./session-output.js";

describe("what a connection sends", () => {
  releaseAfterEach();

  async function opened(
    listener: PortListener,
    settings: Readonly<Record<number, number>> = {},
  ): Promise<RawClient> {
    const client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings(settings), wire.settingsAck()]));
    return client;
  }

  it("keeps nothing of streams that closed while they waited for the window of the connection", async () => {
    const weak: WeakRef<TransportStream>[] = [];
    const listener = await listen({
      grpc: {
        onStream: (stream) => {
          weak.push(new WeakRef(stream));
          stream.write(frameMessage(Buffer.alloc(10_000)));
        },
      },
    });
    const client = await opened(listener, { 4: 1_000_000 });
    for (let id = 1; id < 400; id += 2) client.send(wire.headers(id, "/t.T/Any"));
    await eventually(() => weak.length === 200, "the streams");
    await eventually(() => client.received.length > 65_535, "the window to be used up");
    for (let id = 1; id < 400; id += 2) client.send(wire.rstStream(id));
    await eventually(() => [...listener.sessions].every(({ streams }) => streams.length === 0), "the resets");
    await eventually(() => {
      collectGarbage();
      return weak.filter((each) => each.deref() !== undefined).length < 10;
    }, "the streams to be collected");
    expect(client.socket.closed).to.equal(false);
  });

  it("goes on with the streams that are left when the window opens", async () => {
    const listener = await listen({
      grpc: { onStream: (stream) => stream.write(Buffer.alloc(50_000)) },
    });
    const client = await opened(listener, { 4: 1_000_000 });
    for (const id of [1, 3, 5, 7]) client.send(wire.headers(id, "/t.T/Any"));
    await eventually(() => client.received.length > 65_535, "the window to be used up");
    client.send(Buffer.concat([wire.rstStream(5), wire.windowUpdate(0, 1_000_000)]));
    await eventually(() => client.received.length > 150_000, "what was held");
    expect(client.received.length).to.be.lessThan(152_000);
  });

  it("does not count answers to PING as something that was sent while they wait", async () => {
    const dropped: DropReason[] = [];
    const listener = await serve([], { onDropped: (reason) => dropped.push(reason) });
    const client = await opened(listener);
    // In batches: the answers to one are more than a flood guard takes for something else that was sent.
    for (let batch = 1; batch <= 20; batch++) {
      client.send(Buffer.concat(Array.from({ length: 5 }, wire.ping)));
      await eventually(() => client.frames(wire.type.ping) >= batch * 5 || dropped.length > 0);
    }
    client.send(Buffer.concat(Array.from({ length: 20 }, wire.ping)));
    await eventually(() => dropped.length > 0, "the flood to be noticed");
    expect(dropped).to.deep.equal(["flood"]);
    expect(client.frames(wire.type.ping)).to.be.lessThan(120);
    await client.closed;
  });

  it("charges frames of control that wait, and ends a peer that does not read them", () => {
    let charged = 0;
    let unread = 0;
    const writes: (() => void)[] = [];
    const socket = {
      destroyed: false,
      writableLength: 0,
      write: (_bytes: Uint8Array, onSent: () => void) => writes.push(onSent),
    };
    const account = {
      charge: (bytes: number) => (charged += bytes),
      release: (bytes: number) => (charged -= bytes),
    };
    const owner = {
      account,
      isEncrypted: true,
      lastStreamId: 0,
      isDone: false,
      onDone: () => undefined,
      onUnread: () => unread++,
    };
    const output = new SessionOutput(socket as never, owner as never);
    const reset = wire.rstStream(1);
    output.control(reset);
    output.flush();
    expect(charged).to.equal(0);
    for (let i = 0; i < 1_000; i++) output.control(reset);
    expect(charged).to.be.within(100_000, 200_000);
    writes.shift()?.();
    expect(charged).to.equal(0);
    for (let i = 0; i < 1_800; i++) output.control(reset);
    expect(unread).to.equal(0);
    for (let i = 0; i < 100; i++) output.control(reset);
    expect(unread).to.be.greaterThan(0);
  });

  describe("on a connection that takes nothing", () => {
    let charged: number;
    let written: (() => void)[];
    let output: SessionOutput;
    let owner: StreamOwner;
    const head = { bytes: 300, fields: [], text: () => undefined } as unknown as RequestHead;

    beforeEach(() => {
      charged = 0;
      written = [];
      const account = {
        charge: (bytes: number) => (charged += bytes),
        release: (bytes: number) => (charged -= bytes),
      };
      const socket = {
        destroyed: false,
        writableLength: 0,
        cork: () => undefined,
        uncork: () => undefined,
        write: (bytes: Uint8Array, onSent?: () => void) => {
          socket.writableLength += bytes.length;
          if (onSent !== undefined) written.push(onSent);
        },
      };
      const session = { account, lastStreamId: 0, isDone: false };
      output = new SessionOutput(socket as never, session as never);
      owner = {
        account,
        isOpen: true,
        peerWindowBytes: 1_000_000,
        stallClock: { tick: 0 },
        grpcHeaders: { responseHeaders: () => ({ ":status": "200" }) },
        queue: (stream: Http2Stream) => output.queue(stream),
        removeStream: (stream: Http2Stream, bytes: number) => output.forget(stream, bytes),
      } as unknown as StreamOwner;
      output.widen(1_000_000);
      output.beginReading();
    });

    const open = (id: number): GrpcStream => new GrpcStream(owner, id, head, true);

    it("charges what the batch holds of streams that have closed, until it was sent", () => {
      const [small, large, other] = [open(1), open(3), open(5)] as const;
      small.write(Buffer.alloc(10_000));
      // Of which a part fits.
      large.write(Buffer.alloc(300_000));
      other.write(Buffer.alloc(20_000));
      output.endReading();
      expect(charged).to.be.within(330_000, 331_000);
      small.close();
      large.close();
      expect(charged).to.be.within(330_000, 360_000);
      written.shift()?.();
      expect(charged).to.equal(0);
    });

    it("goes on with what did not fit into the batch once that was sent", () => {
      const results: string[] = [];
      for (const id of [1, 3, 5, 7, 9, 11])
        open(id).write(Buffer.alloc(60_000), (error) => results.push(error?.message ?? "sent"));
      output.endReading();
      expect(charged).to.be.greaterThan(360_000);
      written.shift()?.();
      expect(results).to.have.length(5);
      written.shift()?.();
      expect(results).to.deep.equal(Array.from({ length: 6 }, () => "sent"));
    });

    it("charges what the batch has copied", () => {
      for (let id = 1; id < 200; id += 2) open(id).writeShared(Buffer.alloc(1_000));
      output.endReading();
      expect(charged).to.be.within(100_000, 110_000);
      written.shift()?.();
      expect(charged).to.equal(0);
    });

    it("charges nothing of closed streams that the batch holds nothing of", () => {
      const first = open(1);
      first.write(Buffer.alloc(10_000));
      output.endReading();
      const late = open(3);
      const before = charged;
      late.write(Buffer.alloc(50_000));
      late.close();
      expect(charged).to.equal(before);
    });

    it("charges what the batch holds of an answer that is charged elsewhere until its stream has closed", () => {
      const answer = new Answer(owner, 1, head, true, false);
      answer.write(Buffer.alloc(300_000));
      output.endReading();
      expect(charged).to.be.lessThan(1_000);
      answer.close();
      expect(charged).to.be.within(300_000, 310_000);
      written.shift()?.();
      expect(charged).to.equal(0);
    });
  });

  it("sends nothing on one connection that another failed to write", () => {
    const written: Uint8Array[] = [];
    const owner = {
      account: {},
      isEncrypted: true,
      lastStreamId: 0,
      isDone: false,
      onDone: () => undefined,
      onUnread: () => undefined,
    };
    const broken = new SessionOutput({ destroyed: false } as never, owner as never);
    const stream = {
      isQueued: false,
      fill: () => {
        throw new Error("broken");
      },
    };
    broken.beginReading();
    broken.control(wire.rstStream(1));
    broken.queue(stream as unknown as Http2Stream);
    expect(() => broken.endReading()).to.throw("broken");
    const other = new SessionOutput(
      {
        destroyed: false,
        writableLength: 0,
        write: (bytes: Uint8Array) => written.push(bytes),
      } as never,
      owner as never,
    );
    other.beginReading();
    other.control(wire.ping());
    other.endReading();
    expect(Buffer.concat(written).equals(wire.ping())).to.equal(true);
  });

  it("is not stalled while its peer takes a large message slowly", async () => {
    const clock = new ManualClock();
    let stalled = 0;
    const out: ResponseStream[] = [];
    const large = bytesStreaming("/t.T/Large", (_request, response) => {
      out.push(response);
      response.write(frameMessage(Buffer.alloc(1_000_000)));
    });
    const listener = await serve([large], {
      stall: { timeoutMs: 800, clock, onStreamStalled: () => (stalled += 1) },
    });
    const client = await rawClient(listener);
    client.send(Buffer.concat([wire.subscribe("/t.T/Large", { 4: 0 }), wire.settingsAck()]));
    await eventually(() => client.hasFrame(wire.type.headers), "response headers");
    for (let i = 0; i < 30; i++) {
      clock.advance(100);
      const before = client.received.length;
      client.send(wire.windowUpdate(1, 1_000));
      await eventually(() => client.received.length > before, "a piece");
    }
    expect(stalled).to.equal(0);
    for (let i = 0; i < 10; i++) clock.advance(100);
    await eventually(() => stalled === 1, "the stall");
  });
});

/** A stream as those of listeners of node:http are. */
class Answer extends Http2Stream {
  write(bytes: Uint8Array): void {
    this.send(bytes, "answer");
  }
  override onData(): void {
    // None comes.
  }
  override onEnd(): void {
    // It is of no interest.
  }
  protected override onClosed(): void {
    // Nothing to release.
  }
}

/** Collects garbage without a flag of the command line. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
