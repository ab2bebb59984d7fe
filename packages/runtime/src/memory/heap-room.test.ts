import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { youngHeapBytes } from "./heap.js";
import { HeapRoom } from "./heap-room.js";

/** Of which 70 are for documents. */
const youngBytes = 1_000;
const limitBytes = (youngBytes + 70) / 0.9;

describe("HeapRoom", () => {
  let clock: ManualClock;
  let usedBytes: number;
  let collections: number;
  let room: HeapRoom;
  beforeEach(() => {
    clock = new ManualClock();
    usedBytes = 30;
    collections = 0;
    const collect = (): void => {
      collections++;
      usedBytes -= 10;
      clock.advance(1_000);
    };
    room = new HeapRoom(clock, { limitBytes, youngBytes, usedBytes: () => usedBytes, collect });
  });

  it("leaves the young generation and a tenth of the heap to other things", () => {
    expect([room.has(40), room.freeBytes, collections]).to.deep.equal([true, 40, 0]);
  });

  it("collects garbage that is in the way, but not for what the whole heap has no room for, nor again and again", () => {
    expect([room.has(71), collections]).to.deep.equal([false, 0]);
    expect([room.has(50), collections]).to.deep.equal([true, 1]);
    clock.advance(18_999);
    expect([room.has(51), collections]).to.deep.equal([false, 1]);
    clock.advance(1);
    expect([room.has(51), collections]).to.deep.equal([true, 2]);
  });

  it("takes the heap as it is where node runs without --expose-gc", () => {
    const other = new HeapRoom(clock, {
      limitBytes,
      youngBytes,
      usedBytes: () => usedBytes,
      collect: undefined,
    });
    expect([other.has(40), other.has(41)]).to.deep.equal([true, false]);
  });

  it("leaves as much as the flags of node say: what is no bound for a proxy would be all of an agent's heap", () => {
    const mebibyte = 1024 * 1024;
    expect(youngHeapBytes(["--max-semi-space-size=1", "--max-old-space-size=32"])).to.equal(4 * mebibyte);
    for (const flags of [[], ["--max-semi-space-size=8"], ["--max_semi_space_size=64"]])
      expect(youngHeapBytes(flags)).to.equal(32 * mebibyte);
  });

  it("has room in this process for a small document", () => {
    expect(new HeapRoom(clock).has(1_000_000)).to.equal(true);
  });
});
