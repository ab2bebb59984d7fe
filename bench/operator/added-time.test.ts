import { expect } from "chai";
import { Random } from "../fixtures/random.js";
import { addedTime } from "./added-time.js";

describe("addedTime", () => {
  const random = new Random(7);
  const noise = (count: number, plus: number): number[] =>
    Array.from({ length: count }, () => plus - Math.log(1 - random.next()));

  it("is the difference of the percentiles, and the same for the same times", () => {
    const others = Array.from({ length: 1_000 }, (_, index) => index / 1_000);
    const times = others.map((time) => time + 3);
    const added = addedTime(times, others, 0.99);
    expect(added.ms).to.be.closeTo(3, 1e-9);
    expect(added.lowMs).to.be.closeTo(3, 1e-9);
    expect(added.highMs).to.be.closeTo(3, 1e-9);
    expect(addedTime(times, others, 0.99)).to.deep.equal(added);
  });

  it("has an interval around what is so, which is narrower with more rounds", () => {
    const width = (rounds: number): number => {
      const { lowMs, highMs } = addedTime(noise(rounds, 2), noise(rounds, 0), 0.99);
      expect(lowMs).to.be.below(2);
      expect(highMs).to.be.above(2);
      return highMs - lowMs;
    };
    expect(width(8_000)).to.be.below(width(500));
  });
});
