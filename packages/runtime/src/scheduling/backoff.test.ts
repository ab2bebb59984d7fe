import { expect } from "chai";
import { Backoff } from "./backoff.js";

describe("Backoff", () => {
  it("grows to its cap, draws from the upper half, and starts over after a reset", () => {
    const low = new Backoff({ firstMs: 100, capMs: 350, random: () => 0 });
    expect([low.next(), low.next(), low.next(), low.next()]).to.deep.equal([50, 100, 175, 175]);
    low.reset();
    expect(low.next()).to.equal(50);
    const high = new Backoff({ firstMs: 100, capMs: 350, random: () => 0.999_999 });
    expect(high.next()).to.be.within(99, 100);
  });
});
