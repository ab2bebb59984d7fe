import { expect } from "chai";
import { scaleOf } from "./scale.js";

describe("the scale of tests", () => {
  it("is that of the gate unless the full one is asked for, and refuses what is neither", () => {
    expect([undefined, "", "gate", "full"].map(scaleOf)).to.deep.equal(["gate", "gate", "gate", "full"]);
    expect(() => scaleOf("ful")).to.throw("BUNTING_TEST_SCALE is ful, and must be gate or full");
  });
});
