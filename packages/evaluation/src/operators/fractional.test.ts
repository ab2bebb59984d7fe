import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

const halves: [string, number][] = [
  ["on", 50],
  ["off", 50],
];

describe("fractional", () => {
  it("splits by the hash of the first argument, if that is a text", () => {
    expect(run({ fractional: ["bob", ...halves] })).to.equal(
      run({ fractional: [{ var: "name" }, ...halves] }, { name: "bob" }),
    );
    const given = Array.from({ length: 200 }, (_, i) => run({ fractional: [`u${i}`, ...halves] }));
    expect(new Set(given)).to.deep.equal(new Set(["on", "off"]));
  });

  it("splits by the flag's key and the targeting key otherwise", () => {
    const bob = { targetingKey: "bob" };
    const byHand = run({ fractional: ["the-flagbob", ...halves] });
    expect(run({ fractional: halves }, bob)).to.equal(byHand);
    expect(run({ fractional: [null, ...halves] }, bob)).to.equal(byHand);
    expect(run({ fractional: [{ var: "missing" }, ...halves] }, bob)).to.equal(byHand);
    expect(
      run(
        {
          fractional: [
            ["on", { var: "half" }],
            ["off", 50],
          ],
        },
        { ...bob, half: 50 },
      ),
    ).to.equal(byHand);
    expect(run({ fractional: { var: "shares" } }, { ...bob, shares: halves })).to.equal(byHand);
  });

  it("gives null without a key", () => {
    for (const targetingKey of [null, "", 5])
      expect(run({ fractional: halves }, { targetingKey })).to.equal(null);
    expect(run({ fractional: halves })).to.equal(null);
    expect(run({ fractional: [5, ...halves] }, { targetingKey: "bob" })).to.equal(null);
    expect(run({ map: [["text"], { fractional: ["bob", ...halves] }] })).to.deep.equal([null]);
  });

  it("gives null for shares that can't be parsed", () => {
    for (const share of ["on", ["on", 1.5], ["on", "5"], [["on"], 5]]) {
      expect(run({ fractional: ["bob", share, ["off", 50]] })).to.equal(null);
    }
    expect(run({ fractional: ["bob"] })).to.equal(null);
    expect(run({ fractional: [] })).to.equal(null);
    expect(run({ fractional: "bob" })).to.equal(null);
  });

  it("hashes joined texts as cat joins them", () => {
    const pairs = [
      ["a", "b"],
      ["", "b"],
      [" a", "b"],
      ["a ", " b "],
      ["a", ""],
      ["", ""],
      [" ", " "],
      ["é\u3000", "\u3000"],
      [1, 2.5],
      ["a", null],
    ];
    for (const pair of pairs) {
      const [a = null, b = null] = pair;
      const joined = run({ cat: [{ var: "a" }, { var: "b" }] }, { a, b });
      const many = Array.from({ length: 64 }, (_, i) => [`v${i}`, 1]);
      expect(
        run({ fractional: [{ cat: [{ var: "a" }, { var: "b" }] }, ...many] }, { a, b }),
        JSON.stringify(pair),
      ).to.equal(run({ fractional: [joined, ...many] }));
    }
    expect(() => run({ fractional: [{ cat: ["a", true] }, ...halves] })).to.throw(RuleFailure);
  });

  it("agrees with flagd on keys of any alphabet", () => {
    const shares = [
      ["a", 25],
      ["b", 25],
      ["c", 25],
      ["d", 25],
    ];
    const given = ["user-1", "café", "あいう", "😀", "jon@company.com"].map((key) =>
      run({ fractional: [key, ...shares] }),
    );
    expect(given).to.deep.equal(["d", "a", "a", "c", "b"]);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
