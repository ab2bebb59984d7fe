import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { FlagError } from "./flag-error.js";
import { evaluatorsOf } from "./inline-references.js";
import { emptyTargeting } from "./flag.js";
import { parseFlag, type FlagSetContext } from "./parse-flag.js";

const set: FlagSetContext = { metadata: {}, evaluators: {}, source: "file:flags.json", sourceIndex: 2 };
const onOff: JsonObject = { on: true, off: false };

describe("parseFlag", () => {
  it("reads every part of a flag", () => {
    const targeting = { if: [{ var: "beta" }, "on", "off"] };
    const definition = {
      state: "ENABLED",
      variants: onOff,
      defaultVariant: "off",
      targeting,
      metadata: { owner: "me" },
    };
    expect(parseFlag("f", definition, set)).to.deep.equal({
      key: "f",
      state: "ENABLED",
      variants: new Map(Object.entries(onOff)),
      defaultVariant: "off",
      targeting,
      metadata: { owner: "me" },
      flagSetId: "",
      source: "file:flags.json",
      sourceIndex: 2,
    });
  });

  it('takes a default variant of null, "" and none for the same', () => {
    for (const absent of [{ defaultVariant: null }, { defaultVariant: "" }, {}]) {
      expect(parseFlag("f", { variants: onOff, ...absent }, set).defaultVariant).to.equal(undefined);
    }
  });

  it("keeps {}, which is no rule, null and plain values, which are", () => {
    const targetingOf = (targeting: JsonValue): JsonValue | undefined =>
      parseFlag("f", { variants: onOff, targeting }, set).targeting;
    expect(parseFlag("f", { variants: onOff }, set).targeting).to.equal(undefined);
    expect(targetingOf({})).to.equal(emptyTargeting);
    expect(targetingOf(null)).to.equal(null);
    expect(targetingOf("on")).to.equal("on");
    expect(targetingOf([])).to.deep.equal([]);
  });

  it("takes null, and parts that are null, as absent", () => {
    for (const definition of [null, { state: null, variants: null, defaultVariant: null, metadata: null }]) {
      const flag = parseFlag("f", definition, set);
      expect([flag.state, flag.variants.size, flag.defaultVariant]).to.deep.equal(["", 0, undefined]);
      expect(flag.metadata).to.deep.equal({});
    }
  });

  it("ignores unknown parts", () => {
    expect(parseFlag("f", { variants: onOff, comment: 5, key: "other" }, set))
      .to.include({ key: "f" })
      .and.not.have.property("comment");
  });

  it("keeps variants whose names every object inherits", () => {
    const variants = JSON.parse('{"__proto__":1,"constructor":2}') as JsonObject;
    const flag = parseFlag("f", { variants, defaultVariant: "__proto__" }, set);
    expect([...flag.variants]).to.deep.equal([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
    expect(refusalOf({ variants: onOff, defaultVariant: "constructor" })).to.contain(
      "not one of its variants",
    );
  });

  describe("metadata", () => {
    it("merges the flag's over the set's", () => {
      const flag = parseFlag("f", { metadata: { n: 2, x: true } }, { ...set, metadata: { n: 1, team: "t" } });
      expect(flag.metadata).to.deep.equal({ n: 2, team: "t", x: true });
    });

    it("shares the set's among flags that have none", () => {
      const metadata = { team: "t" };
      expect(parseFlag("f", {}, { ...set, metadata }).metadata).to.equal(metadata);
    });

    it("drops null, and with it the set's value", () => {
      const flag = parseFlag(
        "f",
        { metadata: { n: null, flagSetId: null } },
        { ...set, metadata: { n: 1, flagSetId: "s" } },
      );
      expect(flag.metadata).to.deep.equal({});
      expect(flag.flagSetId).to.equal("");
    });

    it("drops lists and objects, which some providers stop at", () => {
      expect(parseFlag("f", { metadata: { a: [1], b: { c: 1 }, d: "e" } }, set).metadata).to.deep.equal({
        d: "e",
      });
    });

    it("names the flag set, preferring the flag's own value to the set's", () => {
      const metadata = { flagSetId: "set" };
      expect(parseFlag("f", {}, { ...set, metadata }).flagSetId).to.equal("set");
      expect(parseFlag("f", { metadata: { flagSetId: "own" } }, { ...set, metadata }).flagSetId).to.equal(
        "own",
      );
      expect(parseFlag("f", { metadata: { flagSetId: 5 } }, { ...set, metadata }).flagSetId).to.equal("");
    });
  });

  describe("references", () => {
    const evaluators: JsonObject = {
      isAdult: { ">=": [{ var: "age" }, 18] },
      isPro: { and: [{ "==": [{ var: "plan" }, "pro"] }, { $ref: "isAdult" }] },
      "a&b": { "==": [1, 1] },
      text: "on",
    };
    const targetingOf = (targeting: JsonValue): JsonValue | undefined =>
      parseFlag("f", { targeting }, { ...set, evaluators }).targeting;

    it("are replaced wherever they stand", () => {
      expect(targetingOf({ $ref: "isAdult" })).to.equal(evaluators["isAdult"]);
      expect(targetingOf({ if: [{ $ref: "isAdult" }, "on", [{ $ref: "text" }]] })).to.deep.equal({
        if: [evaluators["isAdult"], "on", ["on"]],
      });
    });

    it("stay inside of an evaluator, as flagd's usually do", () => {
      expect(targetingOf({ $ref: "isPro" })).to.equal(evaluators["isPro"]);
    });

    it("without an evaluator stay", () => {
      const rules = [
        { $ref: "absent" },
        { $ref: "constructor" },
        { $ref: 5 },
        { $ref: ["isAdult"] },
        { $ref: "isAdult", x: 1 },
      ];
      for (const rule of rules) expect(targetingOf(rule)).to.equal(rule);
    });

    it("stay where the name is one that flagd can't find in its text", () => {
      expect(targetingOf({ $ref: "a&b" })).to.deep.equal({ $ref: "a&b" });
    });

    it("leave a rule without them unchanged", () => {
      const rule = { if: [{ var: "x" }, "on", "off"] };
      expect(targetingOf(rule)).to.equal(rule);
    });

    it("to an empty evaluator refuse the flag", () => {
      expect(refusalOf({ targeting: { "!": { $ref: "nothing" } } }, { nothing: {} })).to.contain(
        'the evaluator "nothing"',
      );
    });

    it("to an evaluator that is nested too deep refuse the flag", () => {
      const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`) as JsonValue;
      expect(
        refusalOf({ targeting: { "!": { $ref: "deep" } } }, evaluatorsOf({ deep, other: true })),
      ).to.contain('the evaluator "deep" it refers to is nested more than 200 levels deep');
      expect(
        refusalOf({ targeting: { "!": { $ref: "other" } } }, evaluatorsOf({ deep, other: true })),
      ).to.equal("not refused");
    });

    it("that would make a flag larger than a megabyte refuse it, and others say by how much it grew", () => {
      const big = "x".repeat(100_000);
      const uses = (count: number): JsonValue => ({
        targeting: { and: Array.from({ length: count }, () => ({ $ref: "big" })) },
      });
      expect(refusalOf(uses(11), { big })).to.contain(
        "with its references replaced it is larger than 1048576 bytes",
      );
      const grown: number[] = [];
      parseFlag("f", uses(10), { ...set, evaluators: { big }, onReferences: (bytes) => grown.push(bytes) });
      parseFlag("f", {}, { ...set, evaluators: { big }, onReferences: (bytes) => grown.push(bytes) });
      expect(grown).to.deep.equal([1_000_030]);
    });

    it("are replaced in a rule of any depth without exhausting the stack", () => {
      const depth = 200_000;
      const targeting = JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as JsonValue;
      expect(targetingOf(targeting)).to.equal(targeting);
    });
  });

  it("refuses a flag with a part of the wrong type, and names it", () => {
    expect(refusalOf("on")).to.equal('flag "f": it must be an object, and is the string "on"');
    expect(refusalOf([])).to.contain("it must be an object, and is a list");
    expect(refusalOf({ variants: ["on"] })).to.equal('flag "f": "variants" must be an object, and is a list');
    expect(refusalOf({ variants: onOff, defaultVariant: true })).to.contain(
      '"defaultVariant" must be a string, and is the boolean true',
    );
    expect(refusalOf({ state: {} })).to.contain('"state" must be a string, and is an object');
    expect(refusalOf({ metadata: 5 })).to.contain('"metadata" must be an object, and is the number 5');
  });

  it("rejects a default variant that is not one of the variants, and lists these", () => {
    expect(refusalOf({ variants: onOff, defaultVariant: "blue" })).to.equal(
      'flag "f": its default variant "blue" is not one of its variants ("on", "off")',
    );
    expect(refusalOf({ defaultVariant: "blue" })).to.contain("(it has none)");
  });
});

function refusalOf(definition: JsonValue, evaluators: JsonObject = {}): string {
  try {
    parseFlag("f", definition, { ...set, evaluators });
  } catch (error) {
    expect(error).to.be.instanceOf(FlagError).with.property("code", "FLAG_INVALID");
    return (error as FlagError).message;
  }
  return "not refused";
}
