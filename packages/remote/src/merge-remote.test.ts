import { createEvaluator } from "@bunting/evaluation";
import {
  atOnce,
  encodeDocument,
  normaliseDocument,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { remoteStrategies, type RemoteStrategy } from "@bunting/featureflags/resources";
import { testSeed } from "@bunting/test/support/seed.js";
import { expect } from "chai";
import fc from "fast-check";
import { merging, type MergedRemote, type Side, type Sides } from "./merge-remote.js";

const mergeRemote = (sides: Sides): MergedRemote => atOnce(merging(sides));

function flag(value: string, targeting?: JsonObject): JsonObject {
  return {
    state: "ENABLED",
    variants: { on: value, off: `not ${value}` },
    defaultVariant: "on",
    ...(targeting === undefined ? {} : { targeting }),
  };
}

function document(flags: JsonObject, more: Partial<FlagDocument> = {}): FlagDocument {
  return normaliseDocument({ flags, ...more }).document;
}

function valueOf(merged: FlagDocument, key: string, context: JsonObject = {}): unknown {
  return createEvaluator(merged as unknown as JsonValue).evaluator.resolve(key, context).value;
}

const ref = (name: string): JsonObject => ({ if: [{ $ref: name }, "on", "off"] });
/** Another name of the evaluator `vip` that is `xIs(2)`. */
const vip2 = "vip-cba2aef3";
const xIs = (x: number): JsonObject => ({ "==": [{ var: "x" }, x] });

describe("merging", () => {
  const local = document({ both: flag("l"), own: flag("l") }, { metadata: { team: "l", a: 1 } });
  const remote = document({ both: flag("r"), far: flag("r") }, { metadata: { team: "r", b: 2 } });
  const table: readonly [RemoteStrategy, object, metadata: object][] = [
    ["merge", { both: "local", own: "local", far: "remote" }, { a: 1, b: 2, team: "l" }],
    ["override", { both: "remote", own: "local", far: "remote" }, { a: 1, b: 2, team: "r" }],
    ["replace", { both: "remote", far: "remote" }, { b: 2, team: "r" }],
  ];
  for (const [strategy, sides, metadata] of table) {
    it(`takes each flag from its side, with the strategy ${strategy}`, () => {
      const merged = mergeRemote({ local, remote, strategy });
      expect(Object.fromEntries(merged.provenance)).to.deep.equal(sides);
      for (const [key, side] of Object.entries(sides) as [string, Side][])
        expect(valueOf(merged.document, key)).to.equal(side === "local" ? "l" : "r");
      expect(Object.keys(merged.document.flags).sort()).to.deep.equal(Object.keys(sides).sort());
      expect(merged.document.metadata).to.deep.equal(metadata);
    });
  }

  describe("where one side has a flag that can't be served", () => {
    const circle = { a: { "!": [{ $ref: "b" }] }, b: { "!": [{ $ref: "a" }] } };
    const broken = document(
      { both: flag("broken", ref("a")), own: flag("broken", ref("b")), fine: flag("fine", ref("c")) },
      { $evaluators: { ...circle, c: xIs(1) } },
    );
    const good = document({ both: flag("good"), fine: flag("other") });

    for (const [strategy, preferred, other] of [
      ["override", "remote", "local"],
      ["merge", "local", "remote"],
    ] as const)
      it(`passes over that of the ${preferred} with the strategy ${strategy}, as if it was not there, and says why`, () => {
        const sides = { local: good, remote: good, [preferred]: broken, strategy };
        const merged = mergeRemote(sides);
        expect(valueOf(merged.document, "both")).to.equal("good");
        expect(valueOf(merged.document, "fine", { x: 1 })).to.equal("fine");
        expect(Object.fromEntries(merged.provenance)).to.deep.equal({
          both: other,
          own: preferred,
          fine: preferred,
        });
        const names = { local: "the FeatureFlag", remote: "the remote" };
        expect(merged.remarks).to.deep.equal([
          `flag "both": the evaluator "a" it refers to never ends: "a" → "b" → "a", so that of ${names[other]} is served instead of that of ${names[preferred]}`,
        ]);
      });

    it("names three of them, and how many more there are", () => {
      const keys = ["a", "b", "c", "d", "e"];
      const all = (value: string, rule?: JsonObject): JsonObject =>
        Object.fromEntries(keys.map((key) => [key, flag(value, rule)]));
      const merged = mergeRemote({
        local: document(all("good")),
        remote: document(all("broken", ref("a")), { $evaluators: circle }),
        strategy: "override",
      });
      for (const key of keys) expect(valueOf(merged.document, key)).to.equal("good");
      expect(merged.remarks).to.have.length(4);
      expect(merged.remarks.at(-1)).to.equal("so it is for 2 more");
    });
  });

  it("has a variant that is an evaluator mean what it meant, too", () => {
    const of = (name: string): JsonObject => ({
      state: "ENABLED",
      variants: { on: { $ref: "a" } },
      defaultVariant: "on",
      metadata: { name },
    });
    const merged = mergeRemote({
      local: document({ own: of("l") }, { $evaluators: { a: { mine: 1 } } }),
      remote: document({ far: of("r") }, { $evaluators: { a: { theirs: 1 } } }),
      strategy: "merge",
    });
    expect(valueOf(merged.document, "own")).to.deep.equal({ mine: 1 });
    expect(valueOf(merged.document, "far")).to.deep.equal({ theirs: 1 });
  });

  it("serves an evaluator of the other side under another name where both mean something else by one", () => {
    const merged = mergeRemote({
      local: document({ own: flag("l", ref("vip")) }, { $evaluators: { vip: xIs(1) } }),
      remote: document({ far: flag("r", ref("vip")) }, { $evaluators: { vip: xIs(2), unused: xIs(3) } }),
      strategy: "merge",
    });
    expect(Object.keys(merged.document.$evaluators ?? {})).to.deep.equal(["vip", vip2]);
    expect(valueOf(merged.document, "own", { x: 1 })).to.equal("l");
    expect(valueOf(merged.document, "far", { x: 1 })).to.equal("not r");
    expect(valueOf(merged.document, "far", { x: 2 })).to.equal("r");
    expect(merged.remarks).to.deep.equal([
      `the evaluator "vip" of the remote is served as "${vip2}", because that of the FeatureFlag means something else`,
    ]);
  });

  for (const [what, x, names] of [
    ["takes the name that such an evaluator has already, if that is the same", 2, ["vip", vip2]],
    ["takes a free name, if that is another one", 3, ["vip", vip2, `${vip2}-2`]],
  ] as const)
    it(`${what}, on either side`, () => {
      const taken = { [vip2]: xIs(x) };
      for (const [mine, theirs] of [
        [taken, {}],
        [{}, taken],
      ]) {
        const { document: merged } = mergeRemote({
          local: document(
            { own: flag("l", ref("vip")), both: flag("l", ref(vip2)) },
            { $evaluators: { vip: xIs(1), ...mine } },
          ),
          remote: document({ far: flag("r", ref("vip")) }, { $evaluators: { vip: xIs(2), ...theirs } }),
          strategy: "merge",
        });
        expect(Object.keys(merged.$evaluators ?? {})).to.deep.equal(names);
        expect([1, 2, 3].filter((value) => valueOf(merged, "own", { x: value }) === "l")).to.deep.equal([1]);
        expect([1, 2, 3].filter((value) => valueOf(merged, "far", { x: value }) === "r")).to.deep.equal([2]);
        expect([1, 2, 3].filter((value) => valueOf(merged, "both", { x: value }) === "l")).to.deep.equal([x]);
      }
    });

  it("comes to an end where two are remotes of each other, and does not grow where they never agree", () => {
    const sideOf = (key: string, x: number): FlagDocument =>
      document(
        { [key]: flag(key, ref("vip")), both: flag(key, ref("deep")) },
        { $evaluators: { vip: xIs(x), deep: { or: [{ $ref: "vip" }, xIs(9)] } } },
      );
    const [one, two] = [sideOf("one", 1), sideOf("two", 2)];
    for (const strategy of remoteStrategies) {
      let [atOne, atTwo] = [one, two];
      const seen: string[] = [];
      for (let round = 0; round < 12; round++) {
        const before = atOne;
        atOne = mergeRemote({ local: one, remote: atTwo, strategy }).document;
        atTwo = mergeRemote({ local: two, remote: before, strategy }).document;
        seen.push(encodeDocument(atOne) + encodeDocument(atTwo));
      }
      // With `override` and `replace` each side prefers what the other one said, so they may exchange what they say for ever.
      expect(new Set(seen.slice(4)).size, strategy).to.be.at.most(strategy === "merge" ? 1 : 2);
      expect(Math.max(...seen.map(({ length }) => length))).to.be.below(2_000);
    }
  });

  it("leaves out what was an evaluator of flags that are not served", () => {
    const merged = mergeRemote({
      local: document({ both: flag("l", ref("vip")) }, { $evaluators: { vip: xIs(1) } }),
      remote: document({ both: flag("r", ref("vip")) }, { $evaluators: { vip: xIs(2) } }),
      strategy: "merge",
    });
    expect(merged.document.$evaluators).to.deep.equal({ vip: xIs(1) });
    expect(merged.remarks).to.deep.equal([]);
  });

  it("lets a rule use an evaluator that only the other side has", () => {
    const merged = mergeRemote({
      local: document({ own: flag("l", ref("vip")) }),
      remote: document({}, { $evaluators: { vip: xIs(2) } }),
      strategy: "merge",
    });
    expect(valueOf(merged.document, "own", { x: 2 })).to.equal("l");
    expect(valueOf(merged.document, "own", { x: 1 })).to.equal("not l");
  });

  it("is as large as both sides, however often evaluators refer to each other", () => {
    const doubling = Array.from({ length: 60 }, (_, step): [string, JsonValue] => [
      `e${step}`,
      step === 59 ? xIs(1) : { or: [{ $ref: `e${step + 1}` }, { $ref: `e${step + 1}` }] },
    ]);
    const far = document({ far: flag("r", ref("e0")) }, { $evaluators: Object.fromEntries(doubling) });
    const own = document({ own: flag("l", ref("e59")) }, { $evaluators: { e59: xIs(2) } });
    const merged = mergeRemote({ local: own, remote: far, strategy: "merge" });
    expect(encodeDocument(merged.document).length).to.be.below(
      2 * (encodeDocument(far).length + encodeDocument(own).length),
    );
  });

  it("keeps flags of any key, and never looks one up that is none", () => {
    const odd = (value: string): FlagDocument =>
      document(JSON.parse(`{"__proto__":${JSON.stringify(flag(value))}}`) as JsonObject);
    const merged = mergeRemote({
      local: document({ toString: flag("l") }),
      remote: odd("r"),
      strategy: "override",
    });
    expect(Object.keys(merged.document.flags)).to.deep.equal(["__proto__", "toString"]);
    expect([...merged.provenance]).to.have.deep.members([
      ["toString", "local"],
      ["__proto__", "remote"],
    ]);
  });

  /** Sides whose rules refer to evaluators of their own, or to one that nobody has. */
  const names = ["a", "b", "c", "d"];
  const reference = (from: number, own: ReadonlySet<string>): fc.Arbitrary<JsonValue> =>
    fc
      .constantFrom(...names.slice(from).filter((name) => own.has(name)), "nowhere")
      .map(($ref) => ({ $ref }));
  const body = (from: number, own: ReadonlySet<string>): fc.Arbitrary<JsonValue> =>
    fc.oneof(
      fc.integer({ min: 0, max: 2 }).map((x): JsonValue => xIs(x)),
      fc
        .tuple(fc.constantFrom("or", "and"), reference(from, own), reference(from, own))
        .map(([operator, one, two]): JsonValue => ({ [operator]: [one, two] })),
    );
  const side = (value: string): fc.Arbitrary<FlagDocument> =>
    fc.subarray(names).chain((subset) => {
      const own = new Set(subset);
      const evaluators = fc.record(
        Object.fromEntries(subset.map((name) => [name, body(names.indexOf(name) + 1, own)])),
      );
      const flags = fc.dictionary(
        fc.constantFrom("f", "g", "h", "i"),
        body(0, own).map((rule) => flag(value, { if: [rule, "on", "off"] })),
      );
      return fc.tuple(flags, evaluators).map(([some, shared]) => document(some, { $evaluators: shared }));
    });

  it("changes the meaning of no rule: each flag evaluates as in the document of its side alone", () => {
    const property = fc.property(
      side("l"),
      side("r"),
      fc.constantFrom(...remoteStrategies),
      (own, far, strategy) => {
        const merged = mergeRemote({ local: own, remote: far, strategy });
        const isOwn = (key: string): boolean => Object.hasOwn(own.flags, key);
        const isFar = (key: string): boolean => Object.hasOwn(far.flags, key);
        const expected = new Map<string, Side>();
        for (const key of ["f", "g", "h", "i"]) {
          const whose =
            strategy === "merge" ? [isOwn(key), "local", "remote"] : [isFar(key), "remote", "local"];
          if (strategy === "replace" ? isFar(key) : isOwn(key) || isFar(key))
            expected.set(key, (whose[0] === true ? whose[1] : whose[2]) as Side);
        }
        expect([...merged.provenance].sort()).to.deep.equal([...expected].sort());
        const together = createEvaluator(merged.document as unknown as JsonValue).evaluator;
        const alone = {
          local: createEvaluator(own as unknown as JsonValue).evaluator,
          remote: createEvaluator(far as unknown as JsonValue).evaluator,
        };
        for (const [key, from] of expected) {
          for (const x of [0, 1, 2]) {
            const { value, variant, reason } = together.resolve(key, { x });
            const meant = alone[from].resolve(key, { x });
            expect({ value, variant, reason }).to.deep.equal({
              value: meant.value,
              variant: meant.variant,
              reason: meant.reason,
            });
          }
        }
        // Canonical: what the digest is computed of does not depend on the way here.
        const again = normaliseDocument(JSON.parse(encodeDocument(merged.document)) as JsonValue).document;
        expect(encodeDocument(again)).to.equal(encodeDocument(merged.document));
        expect(Object.keys(again.flags)).to.deep.equal(Object.keys(merged.document.flags));
      },
    );
    fc.assert(property, { seed: testSeed, numRuns: 2_000 });
  });
});
