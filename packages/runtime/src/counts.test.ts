import { expect } from "chai";
import { Counts } from "./counts.js";

describe("Counts", () => {
  it("counts by key, and keeps no key whose count is 0", () => {
    const counts = new Counts<string>();
    expect([counts.add("a", 1), counts.add("a", 2), counts.add("b", 1)]).to.deep.equal([1, 3, 1]);
    expect([counts.of("a"), counts.of("b"), counts.of("c"), counts.size]).to.deep.equal([3, 1, 0, 2]);
    expect([counts.add("a", -2), counts.add("b", -1)]).to.deep.equal([1, 0]);
    expect([counts.of("b"), counts.size]).to.deep.equal([0, 1]);
  });

  it("is never below 0", () => {
    const counts = new Counts<object>();
    expect(counts.add({}, -1)).to.equal(0);
    expect(counts.size).to.equal(0);
  });
});
