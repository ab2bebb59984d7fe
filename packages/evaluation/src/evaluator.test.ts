import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import type { Flag } from "./flag.js";
import { parseFlag } from "./parse-flag.js";
import { Evaluator } from "./evaluator.js";
import type { FlagFilter } from "./flag-index.js";
import type { Resolution } from "./resolution.js";

const variants: JsonObject = {
  on: true,
  off: false,
  "1": "one",
  true: "yes",
  "a&b": 1,
  "[on]": 2,
  nul: null,
  "": "empty",
};

describe("Evaluator", () => {
  describe("setStale", () => {
    const flags = ["fixed", "targeted", "disabled", "codeDefault", "broken"].map((key, at) =>
      parseFlag(
        key,
        {
          state: key === "disabled" ? "DISABLED" : "ENABLED",
          variants,
          ...(key === "codeDefault" ? {} : { defaultVariant: "on" }),
          ...(key === "targeted" ? { targeting: { if: [{ var: "off" }, "off"] } } : {}),
          ...(key === "broken" ? { targeting: { nonsense: [] } } : {}),
        },
        { metadata: {}, evaluators: {}, source: "test", sourceIndex: at === 0 ? 1 : 0 },
      ),
    );
    const reasons = (evaluator: Evaluator): readonly string[] =>
      flags.map(({ key }) => evaluator.resolve(key, { off: true }).reason);

    it("marks the values of stale sources, and nothing else, until they are no longer", () => {
      const evaluator = new Evaluator();
      evaluator.apply({ upserted: flags, removed: [] });
      const fresh = ["STATIC", "TARGETING_MATCH", "DISABLED", "FALLBACK", "ERROR"];
      expect(reasons(evaluator)).to.deep.equal(fresh);
      const before = evaluator.resolve("targeted", { off: true });

      evaluator.setStale(new Set([0]));
      expect(reasons(evaluator)).to.deep.equal(["STATIC", "STALE", ...fresh.slice(2)]);
      expect(evaluator.resolve("targeted", { off: true })).to.deep.equal({ ...before, reason: "STALE" });
      expect(evaluator.resolve("targeted", {})).to.include({ reason: "STALE", variant: "on" });
      const all = evaluator
        .resolveAll({ off: true })
        .map(({ flag, resolution }) => [flag.key, resolution.reason]);
      expect(Object.fromEntries(all)).to.include({
        fixed: "STATIC",
        targeted: "STALE",
        disabled: "DISABLED",
      });

      evaluator.setStale(new Set([0, 1]));
      expect(reasons(evaluator)).to.deep.equal(["STALE", "STALE", ...fresh.slice(2)]);
      evaluator.setStale(new Set());
      expect(reasons(evaluator)).to.deep.equal(fresh);
    });

    it("shares the answers that are marked, as it shares all others", () => {
      const evaluator = new Evaluator();
      evaluator.apply({ upserted: flags, removed: [] });
      evaluator.setStale(new Set([0, 1]));
      for (const key of ["fixed", "targeted"])
        expect(evaluator.resolve(key, {})).to.equal(evaluator.resolve(key, {}));
    });
  });

  describe("resolve", () => {
    it("gives the default variant of a flag without targeting as STATIC", () => {
      expect(resolve({ variants, defaultVariant: "on" })).to.deep.include({
        reason: "STATIC",
        variant: "on",
        value: true,
      });
      expect(resolve({ variants, defaultVariant: "on", targeting: {} })).to.deep.include({
        reason: "STATIC",
        variant: "on",
      });
    });

    it("leaves the value to the code where there is no default variant", () => {
      const fallback = { reason: "FALLBACK", variant: undefined, value: undefined, errorCode: undefined };
      for (const part of [
        {},
        { defaultVariant: null },
        { defaultVariant: "" },
        { targeting: null },
        { targeting: { var: "x" } },
      ]) {
        expect(resolve({ variants, ...part })).to.deep.include(fallback);
      }
    });

    it("gives the default variant as DEFAULT where targeting gives null, or is null", () => {
      for (const targeting of [null, { var: "missing" }, { if: [false, "on"] }]) {
        expect(resolve({ variants, defaultVariant: "off", targeting })).to.deep.include({
          reason: "DEFAULT",
          variant: "off",
          value: false,
        });
      }
    });

    it("gives the variant that targeting names, by its text without quotes", () => {
      const named: [JsonValue, string][] = [
        ["on", "on"],
        [1, "1"],
        [true, "true"],
        ["true", "true"],
        [["on"], "[on]"],
        ["", ""],
      ];
      for (const [targeting, variant] of named) {
        const expected = { reason: "TARGETING_MATCH", variant, value: variants[variant] };
        expect(resolve({ variants, targeting }), JSON.stringify(targeting)).to.deep.include(expected);
      }
    });

    it("finds no variant whose name Go escapes in JSON", () => {
      expect(resolve({ variants, targeting: "a&b" })).to.deep.include({
        reason: "ERROR",
        errorCode: "GENERAL",
      });
      const escaped = { "a\\u0026b": 5 };
      expect(resolve({ variants: escaped, targeting: "a&b" })).to.deep.include({
        reason: "TARGETING_MATCH",
        value: 5,
      });
    });

    it("fails with GENERAL where targeting names no variant", () => {
      for (const targeting of ["nosuch", 5, false, [], ["off"], { a: 1, b: 2 }, "constructor"]) {
        const failed = { reason: "ERROR", errorCode: "GENERAL", variant: undefined, value: undefined };
        expect(
          resolve({ variants, defaultVariant: "on", targeting }),
          JSON.stringify(targeting),
        ).to.deep.include(failed);
      }
    });

    it("fails with PARSE_ERROR if targeting can't be evaluated, and passes the reason to onFailure", () => {
      const failures: string[] = [];
      const onFailure = (flag: Flag, error: unknown): void => {
        failures.push(`${flag.key}: ${(error as Error).message}`);
      };
      const evaluator = new Evaluator({ clock: Date, onFailure });
      evaluator.apply({ upserted: [flag("f", { variants, targeting: { nope: [] } })], removed: [] });
      expect(evaluator.resolve("f", {})).to.deep.include({ reason: "ERROR", errorCode: "PARSE_ERROR" });
      expect(failures).to.deep.equal(['f: there is no operator "nope"']);
      for (const targeting of [{ "/": [1, 0] }, [{ "/": [0, 0] }], { in: [1, "x"] }]) {
        expect(resolve({ variants, defaultVariant: "on", targeting })).to.deep.include({
          errorCode: "PARSE_ERROR",
        });
      }
    });

    it("survives rules and contexts that are nested very deep", () => {
      const deep = JSON.parse(`${'{"!":['.repeat(50_000)}1${"]}".repeat(50_000)}`) as JsonValue;
      expect(resolve({ variants, targeting: deep })).to.deep.include({ errorCode: "PARSE_ERROR" });
      const list = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`) as JsonValue;
      expect(resolve({ variants, targeting: { var: "list" } }, { list })).to.deep.include({
        reason: "ERROR",
      });
    });

    it("says DISABLED only if the state is exactly that", () => {
      expect(resolve({ state: "DISABLED", variants, defaultVariant: "on" })).to.deep.include({
        reason: "DISABLED",
        value: undefined,
      });
      expect(resolve({ state: "disabled", variants, defaultVariant: "on" })).to.deep.include({
        reason: "STATIC",
      });
    });

    it("gives the flag's metadata with every answer", () => {
      const metadata = { owner: "me" };
      const flags = [
        {},
        { state: "DISABLED" },
        { targeting: "nosuch" },
        { targeting: { nope: 1 } },
        { defaultVariant: "on" },
      ];
      for (const part of flags)
        expect(resolve({ variants, metadata, ...part }).metadata).to.deep.equal(metadata);
    });

    it("answers FLAG_NOT_FOUND for a flag that does not exist", () => {
      const evaluator = evaluatorOf();
      for (const key of ["f", "constructor", "__proto__"]) {
        expect(evaluator.resolve(key, {})).to.deep.equal({
          reason: "ERROR",
          errorCode: "FLAG_NOT_FOUND",
          variant: undefined,
          value: undefined,
          metadata: {},
        });
      }
    });

    it("takes the time from its clock", () => {
      const clock = { now: () => 1_700_000_000_999 };
      const evaluator = new Evaluator({ clock });
      const targeting = { if: [{ "==": [{ var: "$flagd.timestamp" }, 1_700_000_000] }, "on", "off"] };
      evaluator.apply({ upserted: [flag("f", { variants, targeting })], removed: [] });
      expect(evaluator.resolve("f", {}).variant).to.equal("on");
    });

    it("allocates no answers: it gives the same one each time", () => {
      const evaluator = evaluatorOf(
        flag("a", { variants, defaultVariant: "on" }),
        flag("b", { variants, targeting: { var: "v" } }),
      );
      expect(evaluator.resolve("a", {})).to.equal(evaluator.resolve("a", { other: 1 }));
      expect(evaluator.resolve("b", { v: "on" })).to.equal(evaluator.resolve("b", { v: "on" }));
    });
  });

  describe("among several flags of one key", () => {
    const inSet = (flagSetId: string, sourceIndex: number, name: string): Flag =>
      flag(
        "f",
        { variants: { [name]: 1 }, defaultVariant: name, metadata: flagSetId === "" ? {} : { flagSetId } },
        sourceIndex,
      );

    it("prefers the flag of the latest source", () => {
      const flags = [inSet("a", 1, "a1"), inSet("z", 0, "z0"), inSet("", 2, "none2"), inSet("m", 1, "m1")];
      fc.assert(
        fc.property(fc.shuffledSubarray(flags, { minLength: 1 }), (given) => {
          const evaluator = evaluatorOf(...given);
          const latest = Math.max(...given.map(({ sourceIndex }) => sourceIndex));
          const [expected] = given
            .filter((f) => f.sourceIndex === latest)
            .sort((a, b) => (a.flagSetId < b.flagSetId ? 1 : -1));
          expect(evaluator.resolve("f", {}).variant).to.equal(expected?.defaultVariant);
        }),
      );
    });

    it("takes the flag that is selected, whichever is preferred otherwise", () => {
      const evaluator = evaluatorOf(inSet("a", 0, "a0"), inSet("b", 1, "b1"));
      expect(evaluator.resolve("f", {}, ({ flagSetId }) => flagSetId === "a").variant).to.equal("a0");
      expect(evaluator.resolve("f", {}, () => false).errorCode).to.equal("FLAG_NOT_FOUND");
    });

    it("takes the first set of a selected source, and the last set without a selector, as flagd does", () => {
      const evaluator = evaluatorOf(inSet("b", 0, "b0"), inSet("a", 0, "a0"), inSet("c", 0, "c0"));
      expect(evaluator.resolve("f", {}, ({ sourceIndex }) => sourceIndex === 0).variant).to.equal("a0");
      expect(evaluator.resolve("f", {}).variant).to.equal("c0");
    });

    it("falls back to another flag when the preferred one is removed", () => {
      const preferred = inSet("b", 1, "b1");
      const evaluator = evaluatorOf(inSet("a", 0, "a0"), preferred);
      evaluator.apply({ upserted: [], removed: [preferred] });
      expect(evaluator.resolve("f", {}).variant).to.equal("a0");
    });

    it("replaces the flag of the same set, even by one of an earlier source", () => {
      const evaluator = evaluatorOf(inSet("a", 1, "a1"), inSet("b", 0, "b0"));
      evaluator.apply({ upserted: [inSet("a", 0, "a0")], removed: [] });
      expect(evaluator.resolve("f", {}).variant).to.equal("b0");
      expect(evaluator.resolve("f", {}, ({ flagSetId }) => flagSetId === "a").variant).to.equal("a0");
    });
  });

  describe("resolveAll", () => {
    it("lists each flag, answered as resolve does with the same selector, by flagSetId and key, whatever came when", () => {
      const keys = ["a", "b", "\uffee", "😀", "10", "9", "__proto__"];
      const identity = fc.record({
        key: fc.constantFrom(...keys),
        flagSetId: fc.constantFrom("", "s", "t"),
        sourceIndex: fc.constantFrom(0, 1, 2),
        isRemoval: fc.boolean(),
      });
      const batches = fc.array(fc.array(identity, { maxLength: 6 }), { maxLength: 12 });
      const selectors: readonly (FlagFilter | undefined)[] = [
        undefined,
        ({ flagSetId }) => flagSetId === "s",
        ({ sourceIndex }) => sourceIndex === 0,
        ({ sourceIndex }) => sourceIndex > 0,
      ];
      fc.assert(
        fc.property(batches, (updates) => {
          const evaluator = evaluatorOf();
          const model = new Map<string, Flag>();
          for (const update of updates) {
            const changes = new Map(update.map((change) => [`${change.flagSetId}\0${change.key}`, change]));
            const upserted: Flag[] = [];
            const removed: Flag[] = [];
            for (const [id, { key, flagSetId, sourceIndex, isRemoval }] of changes) {
              const definition = { variants, defaultVariant: "on", metadata: { flagSetId } };
              const changed = flag(key, definition, sourceIndex);
              (isRemoval ? removed : upserted).push(isRemoval ? (model.get(id) ?? changed) : changed);
              if (isRemoval) model.delete(id);
              else model.set(id, changed);
            }
            evaluator.apply({ upserted, removed });
            for (const select of selectors) {
              const answers = evaluator.resolveAll({}, select);
              const selected = [...model.values()].filter(select ?? (() => true));
              expect(answers.map((answer) => answer.flag)).to.have.members(selected);
              for (const answer of answers)
                expect(answer.resolution).to.equal(evaluator.resolve(answer.flag.key, {}, select));
              const order = answers.map((answer) =>
                [answer.flag.flagSetId || "8", answer.flag.key].map(bytes).join("!"),
              );
              expect(order).to.deep.equal([...order].sort());
            }
          }
        }),
      );
    });

    it("answers for the latest source that has a key, or the selected one, as resolve does", () => {
      const evaluator = evaluatorOf(
        flag("f", { variants, defaultVariant: "on", metadata: { flagSetId: "a" } }, 1),
        flag("f", { variants, defaultVariant: "off", metadata: { flagSetId: "b" } }, 0),
        flag("g", { variants, defaultVariant: "on", metadata: { flagSetId: "b" } }, 0),
      );
      const answers = (select?: FlagFilter): unknown =>
        evaluator.resolveAll({}, select).map((answer) => [answer.flag.key, answer.resolution.variant]);
      expect(answers(), "once for each flag set").to.deep.equal([
        ["f", "on"],
        ["f", "on"],
        ["g", "on"],
      ]);
      expect(answers(({ flagSetId }) => flagSetId === "b")).to.deep.equal([
        ["f", "off"],
        ["g", "on"],
      ]);
    });

    it("keeps the order through large updates", () => {
      const flags = Array.from({ length: 300 }, (_, i) =>
        flag(String(i), { variants, defaultVariant: "on" }),
      );
      const evaluator = evaluatorOf(...flags.slice(0, 100));
      const keys = (): string[] => evaluator.resolveAll({}).map((item) => item.flag.key);
      expect(keys()).to.have.length(100);
      evaluator.apply({ upserted: flags.slice(100), removed: [] });
      expect(keys()).to.deep.equal(flags.map(({ key }) => key).sort());
      evaluator.apply({ upserted: [], removed: flags.slice(0, 200) });
      expect(keys()).to.deep.equal(
        flags
          .slice(200)
          .map(({ key }) => key)
          .sort(),
      );
    });

    it("gives only what is selected, each with its answer", () => {
      const evaluator = evaluatorOf(
        flag("a", { variants, defaultVariant: "on" }),
        flag("b", { variants, targeting: { nope: 1 } }),
        flag("c", { variants, state: "DISABLED" }),
      );
      const answers = evaluator.resolveAll({}, ({ key }) => key !== "a");
      expect(answers.map(({ flag: f, resolution }) => [f.key, resolution.reason])).to.deep.equal([
        ["b", "ERROR"],
        ["c", "DISABLED"],
      ]);
    });
  });

  describe("apply", () => {
    it("keeps the compiled rules of flags that did not change", () => {
      const kept = flag("kept", { variants, targeting: { var: "v" } });
      const evaluator = evaluatorOf(kept, flag("changed", { variants, targeting: { var: "v" } }));
      const before = [evaluator.resolve("kept", { v: "on" }), evaluator.resolve("changed", { v: "on" })];
      evaluator.apply({
        upserted: [kept, flag("changed", { variants, targeting: { var: "v" } })],
        removed: [],
      });
      // Answers are made when a flag is compiled: the same answer means the same compiled flag.
      expect(evaluator.resolve("kept", { v: "on" })).to.equal(before[0]);
      const changed = evaluator.resolve("changed", { v: "on" });
      expect(changed).to.deep.equal(before[1]);
      expect(changed).to.not.equal(before[1]);
    });

    it("removes flags, and ignores the removal of a flag that it does not have", () => {
      const gone = flag("gone", { variants, defaultVariant: "on" });
      const evaluator = evaluatorOf(gone);
      evaluator.apply({ upserted: [], removed: [gone, flag("never", {})] });
      expect(evaluator.resolve("gone", {}).errorCode).to.equal("FLAG_NOT_FOUND");
      expect(evaluator.resolveAll({})).to.deep.equal([]);
    });
  });
});

function bytes(text: string): string {
  return Buffer.from(text).toString("hex");
}

function flag(key: string, definition: JsonObject, sourceIndex = 0): Flag {
  return parseFlag(key, definition, { metadata: {}, evaluators: {}, source: "test", sourceIndex });
}

function evaluatorOf(...flags: Flag[]): Evaluator {
  const evaluator = new Evaluator({ clock: Date });
  evaluator.apply({ upserted: flags, removed: [] });
  return evaluator;
}

function resolve(definition: JsonObject, context: JsonObject = {}): Resolution {
  return evaluatorOf(flag("f", definition)).resolve("f", context);
}
