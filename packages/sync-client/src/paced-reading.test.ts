import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { MessageBuffer } from "./message-buffer.js";
import { PacedReading } from "./paced-reading.js";

describe("PacedReading", () => {
  let nowMs: number;
  /** How many messages were made. */
  let made: number;
  let taken: number[];
  let stream: Readable;
  let reading: PacedReading;
  beforeEach(() => {
    nowMs = 0;
    made = 0;
    taken = [];
    stream = new Readable({
      objectMode: true,
      read() {
        if (made < 1_000) this.push(made++);
      },
    });
    reading = new PacedReading(stream, { monotonicMs: () => nowMs });
  });

  afterEach(() => stream.destroy());

  /** Handles messages that take so long each. */
  function handle(tookMs: number, buffer = new MessageBuffer()): MessageBuffer {
    buffer.readFrom(reading);
    stream.on("data", (message: number) =>
      buffer.pass(() =>
        reading.handle(() => {
          nowMs += tookMs;
          taken.push(message);
        }),
      ),
    );
    return buffer;
  }

  it("lets everything else have its turn after each message that took long", async () => {
    handle(10);
    for (let turns = 0; turns < 10; turns++) {
      const before = taken.length;
      await turn();
      expect(taken.length - before).to.be.at.most(1);
    }
    expect(taken.length).to.be.at.least(4);
  });

  it("handles many that take no time in one turn", async () => {
    handle(0.01);
    for (let turns = 0; turns < 3; turns++) await turn();
    expect(taken.length).to.equal(1_000);
  });

  it("reads little while the messages are held back, and goes on with the next one", async () => {
    const buffer = handle(1);
    buffer.pause();
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(made).to.be.below(50);
    expect(taken).to.deep.equal([]);
    buffer.resume();
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(taken.slice(0, 20)).to.deep.equal(Array.from({ length: 20 }, (_, index) => index));
  });

  it("is held back if that was said before there was a stream", async () => {
    const buffer = new MessageBuffer();
    buffer.pause();
    handle(1, buffer);
    for (let turns = 0; turns < 3; turns++) await turn();
    expect(made).to.be.below(50);
    expect(taken).to.deep.equal([]);
  });

  it("handles what was read already when the stream ends", async () => {
    handle(10);
    await turn();
    await turn();
    const read = made;
    expect(taken.length).to.be.below(read);
    stream.push(null);
    reading.end();
    expect(taken.slice(0, read)).to.deep.equal(Array.from({ length: read }, (_, index) => index));
  });
});
