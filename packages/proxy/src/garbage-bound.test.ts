import { expect } from "chai";
import { GarbageBound } from "./garbage-bound.js";

const megabyte = 1024 * 1024;

describe("GarbageBound", () => {
  let bound: GarbageBound;

  beforeEach(() => {
    bound = new GarbageBound();
  });

  const isExceeded = (usedMb: number, { discardedMb = 0, atSecond = 0 } = {}): boolean =>
    bound.isExceeded(usedMb * megabyte, discardedMb * megabyte, atSecond * 1_000);
  const collected = (usedMb: number, { discardedMb = 0, atSecond = 0 } = {}): void =>
    bound.collected(usedMb * megabyte, discardedMb * megabyte, atSecond * 1_000);

  it("asks for a collection until there has been one", () => {
    expect([10, 17, 12].map((used) => isExceeded(used))).to.deep.equal([false, true, true]);
    collected(10);
    expect(isExceeded(12)).to.equal(false);
  });

  it("lets a quarter of what was found in use accumulate, and some more", () => {
    isExceeded(200);
    collected(100);
    expect([125, 141, 142].map((used) => isExceeded(used))).to.deep.equal([false, false, true]);
  });

  it("collects less often while what is in use grows", () => {
    isExceeded(115);
    collected(100);
    expect([200, 216, 217].map((used) => isExceeded(used))).to.deep.equal([false, false, true]);
  });

  it("collects at once in a burst, unless that would take long", () => {
    const isOutrun = (usedMb: number, atSecond: number): boolean =>
      bound.isOutrun(usedMb * megabyte, atSecond * 1_000);
    isExceeded(200);
    collected(100, { atSecond: 10 });
    expect([141, 142].map((usedMb) => isOutrun(usedMb, 11))).to.deep.equal([false, true]);
    expect(isOutrun(142, 12), "no burst").to.equal(false);
    isExceeded(400);
    collected(200, { atSecond: 20 });
    expect(isOutrun(400, 21), "a long pause").to.equal(false);
  });

  it("counts what requests and connections leave behind outside of the heap", () => {
    isExceeded(100);
    collected(20, { discardedMb: 100 });
    expect([100, 129, 130].map((discardedMb) => isExceeded(20, { discardedMb }))).to.deep.equal([
      false,
      false,
      true,
    ]);
    collected(20, { discardedMb: 130 });
    expect(isExceeded(20, { discardedMb: 155 })).to.equal(false);
  });

  it("collects once more after a burst, whose requests were in use at the last collection", () => {
    collected(100, { discardedMb: 200, atSecond: 5 });
    expect(isExceeded(100, { discardedMb: 214, atSecond: 20 })).to.equal(false);
    expect(isExceeded(100, { discardedMb: 215, atSecond: 9.9 })).to.equal(false);
    expect(isExceeded(100, { discardedMb: 215, atSecond: 10 })).to.equal(true);
    collected(20, { discardedMb: 215, atSecond: 11 });
    expect(isExceeded(20, { discardedMb: 216, atSecond: 100 })).to.equal(false);
  });
});
