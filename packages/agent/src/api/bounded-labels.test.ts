import { expect } from "chai";
import { boundedLabels } from "./bounded-labels.js";

describe("boundedLabels", () => {
  it("keeps the first so many words, and calls all others other", () => {
    const label = boundedLabels(2);
    expect(["a", "b", "c", "a", "c", "b"].map(label)).to.deep.equal(["a", "b", "other", "a", "other", "b"]);
  });

  it("calls a word of unreasonable length other", () => {
    expect(boundedLabels(2)("x".repeat(257))).to.equal("other");
  });
});
