import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { checkTargeting } from "./check-targeting.js";
import { Evaluator } from "./evaluator.js";
import { evaluatorsOf, servableEvaluators } from "./inline-references.js";
import { parseDocument, type ParsedDocument } from "./parse-document.js";

const variants = { on: true, off: false };

function parse(evaluators: JsonObject, rules: Readonly<Record<string, JsonValue>>): ParsedDocument {
  const flags = Object.fromEntries(
    Object.entries(rules).map(([key, targeting]) => [
      key,
      { state: "ENABLED", variants, defaultVariant: "off", targeting },
    ]),
  );
  return parseDocument({ flags, $evaluators: evaluators });
}

const ref = (name: string): JsonObject => ({ $ref: name });
const either = (...names: string[]): JsonValue => ({ or: names.map(ref) });

describe("evaluators that refer to evaluators", () => {
  it("are replaced in each other, whatever the order in which they stand there", () => {
    const inner = { ends_with: [{ var: "email" }, "@x.com"] };
    const outer = { or: [ref("inner"), { var: "isTester" }] };
    for (const evaluators of [
      { inner, outer, alias: ref("outer") },
      { alias: ref("outer"), outer, inner },
    ]) {
      const { flags, rejectedFlags } = parse(evaluators, {
        a: { if: [ref("outer"), "on", null] },
        b: { if: [ref("alias"), "on", null] },
      });
      expect(rejectedFlags).to.deep.equal([]);
      for (const flag of flags) {
        expect(flag.targeting).to.deep.equal({ if: [{ or: [inner, { var: "isTester" }] }, "on", null] });
        expect(checkTargeting(flag)).to.deep.equal([]);
      }
      const evaluator = new Evaluator();
      evaluator.apply({ upserted: flags, removed: [] });
      expect(evaluator.resolve("b", { email: "a@x.com" })).to.include({ variant: "on" });
      expect(evaluator.resolve("b", { email: "a@y.com" })).to.include({ variant: "off", reason: "DEFAULT" });
    }
  });

  it("that refer to themselves are refused with the flags that reach them, and with no others", () => {
    const evaluators = {
      a: either("b", "fine"),
      b: either("a"),
      self: either("self"),
      leads: either("self", "fine"),
      fine: { "==": [1, 1] },
    };
    const { flags, rejectedFlags } = parse(evaluators, {
      ofA: ref("a"),
      ofSelf: { if: [ref("self"), "on"] },
      ofLeads: ref("leads"),
      ofFine: { if: [ref("fine"), "on"] },
      ofNone: null,
    });
    expect(flags.map(({ key }) => key)).to.deep.equal(["ofFine", "ofNone"]);
    expect(rejectedFlags.map(({ reason }) => reason)).to.deep.equal([
      'flag "ofA": the evaluator "a" it refers to never ends: "a" → "b" → "a"',
      'flag "ofSelf": the evaluator "self" it refers to never ends: "self" → "self"',
      'flag "ofLeads": the evaluator "leads" it refers to never ends: "leads" → "self" → "self"',
    ]);
  });

  it("are refused with what one of them can't be served for, and keep references that lead nowhere", () => {
    const { flags, rejectedFlags } = parse(
      { outer: either("empty"), empty: {}, vain: either("nowhere") },
      { a: ref("outer"), b: { if: [ref("vain"), "on"] } },
    );
    expect(rejectedFlags.map(({ reason }) => reason)).to.deep.equal([
      'flag "a": the evaluator "outer" it refers to can\'t be served: the evaluator "empty" it refers to is empty',
    ]);
    expect(flags.flatMap(checkTargeting)).to.deep.equal(['a "$ref" leads to no evaluator']);
  });

  it("may be chained without end, but not grow without bound, in size or depth", () => {
    const chain = (length: number, link: (name: string) => JsonValue): JsonObject =>
      Object.fromEntries(
        Array.from({ length }, (_, i) => [`e${i}`, i === length - 1 ? { "==": [1, 1] } : link(`e${i + 1}`)]),
      );
    const rules = { f: { if: [ref("e0"), "on"] } };
    expect(parse(chain(50_000, ref), rules).rejectedFlags).to.deep.equal([]);
    const doubled = parse(
      chain(60, (name) => either(name, name)),
      rules,
    ).rejectedFlags;
    expect(doubled[0]?.reason).to.contain("with its references replaced it is larger than 1048576 bytes");
    const deep = parse(
      chain(2_000, (name) => ({ "!": [ref(name)] })),
      rules,
    ).rejectedFlags;
    expect(deep[0]?.reason).to.contain("nested more than 200 levels deep with its references replaced");
  });

  it("are refused with texts that do not grow with the way to what is wrong", () => {
    const length = 3_000;
    const chain = Object.fromEntries(
      Array.from({ length }, (_, i) => [
        `e${i}`,
        { "!": [ref(i === length - 1 ? "x".repeat(5_000) : `e${i + 1}`)] },
      ]),
    );
    const rules = Object.fromEntries(Array.from({ length }, (_, i) => [`f${i}`, ref(`e${i}`)]));
    const { rejectedFlags } = parse({ ...chain, ["x".repeat(5_000)]: {} }, rules);
    expect(rejectedFlags).to.have.length(length);
    for (const { reason } of rejectedFlags) expect(reason.length).to.be.lessThan(300);
    expect(rejectedFlags[0]?.reason).to.match(
      /^flag "f0": the evaluator "e0" it refers to can't be served: the evaluator "x+\.{3}" it refers to is empty$/,
    );
  });

  it("called like parts of JavaScript are evaluators like any other", () => {
    const evaluators = JSON.parse(
      '{"__proto__":{"or":[{"$ref":"constructor"}]},"constructor":{"==":[1,1]}}',
    ) as JsonObject;
    const { flags } = parse(evaluators, { f: ref("__proto__") });
    expect(flags[0]?.targeting).to.deep.equal({ or: [{ "==": [1, 1] }] });
  });
});

describe("evaluatorsOf", () => {
  it("does not look again for what can't be walked in evaluators that were looked at", () => {
    const walksOf = (evaluators: (object: JsonObject) => unknown): number => {
      let walks = 0;
      const evaluator = new Proxy<JsonObject>(
        { "==": [1, 2] },
        {
          ownKeys: (rule) => (walks++, Reflect.ownKeys(rule)),
        },
      );
      evaluators({ evaluator });
      return walks;
    };
    expect(walksOf((object) => evaluatorsOf(servableEvaluators(object)))).to.equal(walksOf(evaluatorsOf));
    expect(walksOf(servableEvaluators)).to.be.at.least(1);
  });
});
