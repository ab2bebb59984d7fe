import { expect } from "chai";
import { createEvaluator } from "./create-evaluator.js";

describe("createEvaluator", () => {
  it("evaluates the flags of a document, and names those it refuses", () => {
    const { evaluator, rejectedFlags } = createEvaluator({
      flags: { a: { variants: { on: 1 }, defaultVariant: "on" }, b: { variants: "none" } },
    });
    expect(evaluator.resolve("a", {})).to.include({ reason: "STATIC", value: 1 });
    expect(evaluator.resolve("b", {})).to.include({ errorCode: "FLAG_NOT_FOUND" });
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["b"]);
  });

  it("takes the clock and the listener for failures from its options", () => {
    const failures: string[] = [];
    const { evaluator } = createEvaluator(
      {
        flags: {
          now: { variants: { "5": 5 }, targeting: { var: "$flagd.timestamp" } },
          bad: { targeting: { no_operator: [] } },
        },
      },
      { clock: { now: () => 5_000 }, onFailure: ({ key }) => failures.push(key) },
    );
    expect(evaluator.resolve("now", {})).to.include({ value: 5 });
    expect(evaluator.resolve("bad", {})).to.include({ errorCode: "PARSE_ERROR" });
    expect(failures).to.deep.equal(["bad"]);
  });
});
