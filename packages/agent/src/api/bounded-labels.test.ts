import { expect } from "chai";
import { boundedLabels } from "./bounded-labels.js";

describe("boundedLabels", () => {
  it("keeps the first values up to its limit, and calls all others other", () => {
    const label = boundedLabels(2);
    expect(["a", "b", "c", "a", "c", "b"].map(label)).to.deep.equal(["a", "b", "other", "a", "other", "b"]);
  });

  it("calls a value of unreasonable length other", () => {
    expect(boundedLabels(2)("x".repeat(257))).to.equal("other");
  });

  it("cuts longer values", () => {
    expect(boundedLabels(2)("x".repeat(256))).to.equal(`${"x".repeat(61)}...`);
  });
});
