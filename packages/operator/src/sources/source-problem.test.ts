import { expect } from "chai";
import { fewProblems, type SourceProblem } from "./source-problem.js";

describe("fewProblems", () => {
  const problem = (message: string): SourceProblem => ({ reason: "NotShared", message });

  it("keep the first and the last of many, and no long sentence", () => {
    const many = [...Array.from({ length: 1_000 }, (_, index) => problem(`${index}`)), problem("no source")];
    const few = fewProblems(many);
    expect(few).to.have.length(16);
    expect([few[0]?.message, few.at(-1)?.message]).to.deep.equal(["0", "no source"]);
    expect(fewProblems(many.slice(0, 16))).to.deep.equal(many.slice(0, 16));
    expect(fewProblems([problem("x".repeat(1_000_000))])[0]?.message).to.have.length(1_024);
  });
});
