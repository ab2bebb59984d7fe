import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { LongRequestQueue, turnsBetween } from "./long-request-queue.js";

describe("LongRequestQueue", () => {
  it("answers the first at once, and then one after some turns of the event loop each", async () => {
    const long = new LongRequestQueue();
    const answered: number[] = [];
    for (let index = 0; index < 4; index++) long.run(() => answered.push(index));
    const counts: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      counts.push(answered.length);
      for (let index = 0; index < turnsBetween; index++) await setImmediate();
    }
    expect(counts).to.deep.equal([1, 2, 3, 4, 4]);
    expect(answered).to.deep.equal([0, 1, 2, 3]);
    long.run(() => answered.push(4));
    expect(answered).to.have.length(5);
  });

  it("forgets a waiting request that is taken back, without a turn for it", async () => {
    const long = new LongRequestQueue();
    const answered: number[] = [];
    const takeBack = [0, 1, 2].map((index) => long.run(() => answered.push(index)));
    expect(long.waiting).to.equal(2);
    takeBack[1]?.();
    expect(long.waiting).to.equal(1);
    for (let index = 0; index < turnsBetween; index++) await setImmediate();
    expect(answered).to.deep.equal([0, 2]);
    expect(long.waiting).to.equal(0);
  });
});
