import { expect } from "chai";
import { FrameReader, type FrameSink } from "./frame-reader.js";
import { wire } from "@bunting/test/support/grpc-port.js";

/** What a reader reports, as text. */
class Recorder implements FrameSink {
  readonly events: string[] = [];
  heldBytes = 0;
  ignored = 0;
  maxHeldBytes = 0;
  readonly reader = new FrameReader(this);
  /** Of how many events it has enough. */
  enoughAt = Infinity;

  get hasEnough(): boolean {
    return this.events.length >= this.enoughAt;
  }

  onHeaders(streamId: number, flags: number, bytes: Buffer, start: number, end: number): void {
    this.events.push(`headers ${streamId} ${flags} ${bytes.toString("latin1", start, end)}`);
  }

  onData(streamId: number, piece: Buffer, flowBytes: number, endsStream: boolean): void {
    this.events.push(`data ${streamId} ${piece.toString("latin1")} ${flowBytes}${endsStream ? " end" : ""}`);
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.events.push(`frame ${type} ${flags} ${streamId} ${payload.length}`);
  }

  onIgnored(): void {
    this.ignored++;
  }

  onBufferedChange(bytes: number): void {
    this.heldBytes += bytes;
    this.maxHeldBytes = Math.max(this.maxHeldBytes, this.heldBytes);
  }

  onInvalid(code: number, reason: string): void {
    this.events.push(`invalid ${code} ${reason}`);
    this.reader.stop();
  }
}

const [data, headers, continuation] = [0, 1, 9];
const [endStream, endHeaders, padded, priority] = [0x1, 0x4, 0x8, 0x20];
const text = (value: string): Buffer => Buffer.from(value, "latin1");

function read(...chunks: readonly Buffer[]): Recorder {
  const recorder = new Recorder();
  for (const chunk of chunks) recorder.reader.push(chunk);
  return recorder;
}

describe("FrameReader", () => {
  const all = Buffer.concat([
    wire.settings({ 4: 100 }),
    wire.frame(
      headers,
      endHeaders | padded,
      1,
      Buffer.concat([Buffer.of(3), text("block"), Buffer.alloc(3)]),
    ),
    wire.frame(headers, endHeaders | priority, 3, Buffer.concat([Buffer.of(0, 0, 0, 1, 9), text("other")])),
    wire.frame(headers, endStream, 5, text("be")),
    wire.frame(continuation, 0, 5, text("gi")),
    wire.frame(continuation, endHeaders, 5, text("ns")),
    wire.data(1, text("content"), 0),
    wire.frame(data, padded | endStream, 1, Buffer.concat([Buffer.of(4), text("last"), Buffer.alloc(4)])),
    wire.data(3, Buffer.alloc(0)),
    wire.frame(0xfa, 0, 0, Buffer.alloc(30_0)),
    wire.ping(),
  ]);

  it("returns what is left of a chunk when its receiver has enough, and goes on with it", () => {
    const expected = read(all);
    const recorder = new Recorder();
    recorder.enoughAt = 0;
    expect(recorder.reader.push(all)?.length).to.equal(all.length);
    let rest: Buffer | undefined = all;
    let pushes = 0;
    for (; rest !== undefined; pushes++) {
      recorder.enoughAt = recorder.events.length + 1;
      rest = recorder.reader.push(rest);
    }
    expect(recorder.events).to.deep.equal(expected.events);
    expect(pushes).to.be.within(2, expected.events.length + 1);
  });

  it("passes on whole frames, blocks put together, without padding and priority", () => {
    const { events, maxHeldBytes, heldBytes } = read(all);
    expect(events).to.deep.equal([
      "frame 4 0 0 6",
      "headers 1 12 block",
      "headers 3 36 other",
      "headers 5 1 begins",
      "data 1 content 7",
      "data 1 last 9 end",
      "data 3  0 end",
      "frame 6 0 0 8",
    ]);
    expect(maxHeldBytes, "the block in three frames").to.be.greaterThan(0);
    expect(heldBytes).to.equal(0);
  });

  it("passes on the same, with content in pieces, wherever the chunks are cut", () => {
    const whole = joined(read(all).events);
    for (let at = 1; at < all.length; at++) {
      const { events, heldBytes } = read(all.subarray(0, at), all.subarray(at));
      expect(joined(events), `cut at ${at}`).to.deep.equal(whole);
      expect(heldBytes).to.equal(0);
    }
    const bytes = Array.from({ length: all.length }, (_, at) => all.subarray(at, at + 1));
    expect(joined(read(...bytes).events)).to.deep.equal(whole);
  });

  it("passes on DATA of padding only, all of which counts for flow control, wherever the chunks are cut", () => {
    for (const padding of [0, 1, 3, 255]) {
      const payload = Buffer.concat([Buffer.of(padding), Buffer.alloc(padding)]);
      const frames = Buffer.concat([
        wire.frame(data, padded, 1, payload),
        wire.frame(data, padded | endStream, 1, payload),
        wire.ping(),
      ]);
      for (let at = 0; at < frames.length; at++) {
        const { events } = read(frames.subarray(0, at), frames.subarray(at));
        expect(joined(events), `${padding} bytes, cut at ${at}`).to.deep.equal([
          ["frame 6 0 0 8"],
          "",
          2 * (1 + padding),
          1,
        ]);
      }
    }
  });

  /** Pieces of one stream's content put together. */
  function joined(events: readonly string[]): readonly unknown[] {
    let content = "";
    let flowBytes = 0;
    let ends = 0;
    const others = events.filter((event) => {
      const [what, streamId, ...rest] = event.split(" ");
      if (what !== "data" || streamId !== "1") return true;
      content += rest[0] ?? "";
      flowBytes += Number(rest[1]);
      if (rest[2] === "end") ends++;
      return false;
    });
    return [others, content, flowBytes, ends];
  }

  it("holds no content of a frame, and of others what has come", () => {
    const large = wire.data(1, Buffer.alloc(16_384), 0);
    expect(read(large.subarray(0, 16_000)).maxHeldBytes).to.equal(0);
    const block = wire.frame(headers, endHeaders, 1, Buffer.alloc(16_384));
    const { heldBytes, reader } = read(block.subarray(0, 5_000));
    expect(heldBytes).to.be.within(4_991, 20_000);
    expect(reader.isInHeaders).to.equal(true);
    const recorder = read(block.subarray(0, 5_000));
    recorder.reader.stop();
    expect(recorder.heldBytes).to.equal(0);
  });

  for (const [what, bytes, code] of [
    ["a frame above 16 KB, before it comes", Buffer.of(0, 0x40, 1, 0, 0, 0, 0, 0, 1), 6],
    ["PING of another size", wire.frame(6, 0, 0, Buffer.alloc(7)), 6],
    ["PING of a stream", wire.frame(6, 0, 1, Buffer.alloc(8)), 1],
    ["SETTINGS of another size", wire.frame(4, 0, 0, Buffer.alloc(5)), 6],
    ["SETTINGS of a stream", wire.frame(4, 0, 1, Buffer.alloc(6)), 1],
    ["an acknowledgement of SETTINGS with settings", wire.frame(4, 1, 0, Buffer.alloc(6)), 6],
    ["more settings than there are", wire.frame(4, 0, 0, Buffer.alloc(6 * 33)), 11],
    ["WINDOW_UPDATE of another size", wire.frame(8, 0, 1, Buffer.alloc(3)), 6],
    ["RST_STREAM of another size", wire.frame(3, 0, 1, Buffer.alloc(5)), 6],
    ["RST_STREAM without a stream", wire.frame(3, 0, 0, Buffer.alloc(4)), 1],
    ["PRIORITY of another size", wire.frame(2, 0, 1, Buffer.alloc(4)), 6],
    ["GOAWAY of another size", wire.frame(7, 0, 0, Buffer.alloc(7)), 6],
    ["PUSH_PROMISE", wire.frame(5, 4, 1, Buffer.alloc(8)), 1],
    ["DATA without a stream", wire.frame(0, 0, 0, Buffer.alloc(1)), 1],
    ["DATA with more padding than content", wire.frame(0, padded, 1, Buffer.of(2, 0)), 1],
    ["DATA without its padding", wire.frame(0, padded, 1), 6],
    ["HEADERS without a stream", wire.frame(1, 4, 0, Buffer.alloc(1)), 1],
    ["HEADERS with more padding than block", wire.frame(1, padded | endHeaders, 1, Buffer.of(2, 0)), 1],
    ["HEADERS that end in their padding's length", wire.frame(1, padded | endHeaders, 1), 1],
    ["HEADERS that end in their priority", wire.frame(1, priority | endHeaders, 1, Buffer.alloc(4)), 1],
    [
      "HEADERS that depend on themselves",
      wire.frame(1, priority | endHeaders, 1, Buffer.of(0, 0, 0, 1, 0)),
      1,
    ],
    ["CONTINUATION of nothing", wire.frame(9, endHeaders, 1), 1],
    ["another frame in a header block", Buffer.concat([wire.frame(1, 0, 1), wire.ping()]), 1],
    ["CONTINUATION of another stream", Buffer.concat([wire.frame(1, 0, 1), wire.frame(9, 4, 3)]), 1],
    [
      "a header block of ten frames",
      Buffer.concat([wire.frame(1, 0, 1), ...Array<Buffer>(9).fill(wire.frame(9, 0, 1, Buffer.alloc(10)))]),
      11,
    ],
  ] as const) {
    it(`refuses ${what}`, () => {
      const { events, heldBytes } = read(bytes, wire.ping());
      expect(events).to.have.length(1);
      expect(events[0]).to.match(new RegExp(`^invalid ${code} `));
      expect(heldBytes).to.equal(0);
    });
  }
});
