import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { explain, type Explanation, type RuleStep } from "./explain.js";
import { parseFlag } from "./parse-flag.js";

const variants = { on: true, off: false };
const evaluators = { employee: { ends_with: [{ var: "email" }, "@example.com"] } };

function explained(targeting: JsonValue, context: JsonObject = {}, more: JsonObject = {}): Explanation {
  const set = { metadata: {}, evaluators, source: "", sourceIndex: 0 };
  const flag = parseFlag("f", { variants, defaultVariant: "off", targeting, ...more }, set);
  return explain(flag, context, { evaluators, clock: { now: () => 1_700_000_000_000 } });
}

/** `operator=result`, with the steps inside in brackets. */
function outline(steps: readonly RuleStep[]): string {
  return steps
    .map(({ operator, result, error, steps: inner }) => {
      const outcome = error === undefined ? JSON.stringify(result) : "failed";
      return `${operator}=${outcome}${inner.length === 0 ? "" : `[${outline(inner)}]`}`;
    })
    .join(" ");
}

describe("explain", () => {
  it("lists the operators that were evaluated, and none that were not", () => {
    const rule = { if: [{ "==": [{ var: "a" }, 1] }, "on", { in: [{ var: "b" }, ["x"]] }, "on", "off"] };
    expect(outline(explained(rule, { a: 1 }).steps)).to.equal('if="on"[===true[var=1]]');
    expect(outline(explained(rule, { a: 2, b: "x" }).steps)).to.equal(
      'if="on"[===false[var=2] in=true[var="x"]]',
    );
  });

  it("says which argument of an if became its result", () => {
    const rule = { if: [{ var: "a" }, "on", { var: "b" }, { if: [{ var: "c" }, "on"] }, "off"] };
    const branch = (context: JsonObject): number | undefined => explained(rule, context).steps[0]?.branch;
    expect(branch({ a: 1 })).to.equal(1);
    expect(branch({ b: 1, c: 1 })).to.equal(3);
    expect(branch({})).to.equal(4);
    expect(explained({ if: [{ var: "a" }, "on"] }).steps[0]?.branch).to.equal(undefined);
    expect(explained({ if: [false, "on", [1], "off"] }).steps[0]?.branch).to.equal(3);
  });

  it("names the evaluator that a reference led to", () => {
    const { steps } = explained({ if: [{ $ref: "employee" }, "on"] }, { email: "ada@example.com" });
    expect(steps[0]?.steps[0]).to.include({ operator: "ends_with", evaluator: "employee", result: true });
  });

  it("gives the answer of the evaluator, with the reason of a failure", () => {
    const unknown = explained({ if: [{ nope: [] }, "on"] });
    expect(unknown.resolution).to.include({ reason: "ERROR", errorCode: "PARSE_ERROR" });
    expect(unknown.failure).to.equal('there is no operator "nope"');
    expect(outline(unknown.steps)).to.equal("if=failed[nope=failed]");
    const noVariant = explained({ cat: ["a", "b"] });
    expect(noVariant.resolution.errorCode).to.equal("GENERAL");
    expect(noVariant.failure).to.equal("the result of the rule is the name of no variant");
    expect(noVariant.result).to.equal("ab");
  });

  it("has no steps where there is no rule, or the flag is disabled", () => {
    expect(explained({})).to.deep.include({ steps: [], failure: undefined, result: undefined });
    expect(explained({ var: "a" }, {}, { state: "DISABLED" })).to.deep.include({ steps: [] });
    expect(explained("on")).to.deep.include({ steps: [], result: "on" });
  });

  it("writes the integer of flagd's engine as a number", () => {
    expect(
      explained({ if: [{ "==": [{ "-": [] }, 0] }, "on"] }).steps[0]?.steps[0]?.steps[0]?.result,
    ).to.equal(0);
  });

  it("keeps a thousand steps, and says that there were more", () => {
    const rule = { if: [{ some: [{ var: "list" }, { "==": [{ var: "" }, -1] }] }, "on"] };
    const list = Array.from({ length: 2_000 }, (_, index) => index);
    const { resolution, steps, isComplete } = explained(rule, { list });
    expect(resolution.variant).to.equal("off");
    expect(isComplete).to.equal(false);
    expect(JSON.stringify(steps).length).to.be.lessThan(1_000_000);
  });
});
