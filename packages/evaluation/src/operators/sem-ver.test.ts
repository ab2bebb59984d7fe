import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("sem_ver", () => {
  it("relates two versions", () => {
    const relations: Record<string, [string, boolean][]> = {
      "=": [
        ["1.2.3", true],
        ["1.2.4", false],
      ],
      "!=": [
        ["1.2.3", false],
        ["1.2.4", true],
      ],
      "<": [
        ["1.2.4", true],
        ["1.2.3", false],
      ],
      "<=": [
        ["1.2.3", true],
        ["1.2.2", false],
      ],
      ">": [
        ["1.2.3-rc.1", true],
        ["1.2.3", false],
      ],
      ">=": [
        ["v1.2.3", true],
        ["1.2.4", false],
      ],
      "^": [
        ["1.9.0", true],
        ["2.2.3", false],
      ],
      "~": [
        ["1.2.9", true],
        ["1.3.3", false],
      ],
    };
    for (const [relation, cases] of Object.entries(relations)) {
      for (const [version, expected] of cases) {
        expect(run({ sem_ver: ["1.2.3", relation, version] }), `${relation} ${version}`).to.equal(expected);
        expect(run({ sem_ver: { var: "args" } }, { args: ["1.2.3", relation, version] })).to.equal(expected);
      }
    }
  });

  it("takes numbers in the form that Go prints", () => {
    expect(run({ sem_ver: [1.2, "=", "1.2.0"] })).to.equal(true);
    expect(run({ sem_ver: [999_999, ">", { var: "v" }] }, { v: 1 })).to.equal(true);
    expect(run({ sem_ver: [1_000_000, ">", "1"] })).to.equal(null);
    expect(run({ sem_ver: [-0, "=", "0"] })).to.equal(null);
  });

  it("gives null for anything but a version, a relation and a version", () => {
    for (const args of [
      ["x", "=", "1"],
      ["1", "==", "1"],
      ["1", 5, "1"],
      ["1", "=", "x"],
      ["1", "="],
      ["1", "=", "1", "1"],
      "1",
      [null, "=", "1"],
      [true, "=", "1"],
    ]) {
      expect(run({ sem_ver: args })).to.equal(null);
    }
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
