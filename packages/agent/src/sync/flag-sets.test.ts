import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { FlagSetsTooLargeError, replaceFlagSets } from "./flag-sets.js";

const child = fileURLToPath(new URL("flag-sets.child.ts", import.meta.url));
const limits = { maxBytes: 1_000_000, room: { has: () => true } };

const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };

function merge(held: object | undefined, update: object | string): unknown {
  const bytes = Buffer.from(typeof update === "string" ? update : JSON.stringify(update));
  const before = held === undefined ? undefined : Buffer.from(JSON.stringify(held));
  return JSON.parse(replaceFlagSets(before, bytes, limits).toString());
}

describe("replaceFlagSets", () => {
  const a = { flags: { x: flag, y: flag }, metadata: { flagSetId: "a", team: "blue" } };
  const b = { flags: { x: flag }, metadata: { flagSetId: "b" } };
  const x = (flagSetId: string, more: object = {}) => ({
    ...flag,
    key: "x",
    metadata: { flagSetId, ...more },
  });
  const y = { ...flag, key: "y", metadata: { flagSetId: "a", team: "blue" } };

  it("replaces the set that the document names, and keeps the others", () => {
    const first = merge(undefined, a) as object;
    expect(first).to.deep.equal({ flags: [x("a", { team: "blue" }), y] });
    const both = merge(first, b) as object;
    expect(both).to.deep.equal({ flags: [x("a", { team: "blue" }), y, x("b")] });
    const less = merge(both, { ...a, flags: { x: flag } }) as object;
    expect(less).to.deep.equal({ flags: [x("b"), x("a", { team: "blue" })] });
    expect(merge(less, { flags: {}, metadata: { flagSetId: "b" } })).to.deep.equal({
      flags: [x("a", { team: "blue" })],
    });
  });

  it("replaces the sets of single flags, too", () => {
    const mixed = { flags: { x: { ...flag, metadata: { flagSetId: "b" } } }, metadata: { flagSetId: "a" } };
    const held = { flags: [y, x("b"), x("c")] };
    expect(merge(held, mixed)).to.deep.equal({ flags: [x("c"), x("b")] });
  });

  it("replaces everything where the document names no set", () => {
    const unnamed = { flags: { z: flag }, metadata: { team: "red" } };
    expect(merge(merge(undefined, a) as object, unnamed)).to.deep.equal(unnamed);
  });

  it("puts each set's evaluators into its rules", () => {
    const rule = (of: string) => ({
      flags: { x: { ...flag, targeting: { if: [{ $ref: "is" }, "on", { $ref: "other" }] } } },
      $evaluators: { is: { $ref: "inner" }, inner: { "==": [of, { var: "of" }] } },
      metadata: { flagSetId: of },
    });
    const both = merge(merge(undefined, rule("a")) as object, rule("b")) as {
      flags: { targeting: unknown }[];
    };
    expect(both.flags.map(({ targeting }) => targeting)).to.deep.equal(
      ["a", "b"].map((of) => ({ if: [{ "==": [of, { var: "of" }] }, "on", { $ref: "other" }] })),
    );
  });

  it("puts them wherever else a flag refers to them, as it does without sets", () => {
    const set = {
      flags: { x: { ...flag, variants: { on: { $ref: "is" } } } },
      $evaluators: { is: { large: true } },
      metadata: { flagSetId: "a" },
    };
    expect(merge(undefined, set)).to.deep.equal({
      flags: [{ ...x("a"), variants: { on: { large: true } } }],
    });
  });

  it("hands on what it can't read, for the store to refuse", () => {
    for (const text of [
      "{",
      "[]",
      "null",
      `{"metadata":{"flagSetId":"a"},"flags":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
    ]) {
      expect(replaceFlagSets(undefined, Buffer.from(text), limits).toString()).to.equal(text);
    }
  });

  it("refuses what there is no room for on the heap, of both documents together, or would become too long", () => {
    const [held, update] = [a, b].map((document) => Buffer.from(JSON.stringify(document)));
    const merged = (given: Partial<typeof limits>) => () =>
      replaceFlagSets(held, update ?? Buffer.alloc(0), { ...limits, ...given });
    const asked: number[] = [];
    const full = { has: (bytes?: number) => asked.push(bytes ?? 0) === 0 };
    expect(merged({ room: full })).to.throw(FlagSetsTooLargeError);
    expect(asked[0]).to.be.greaterThan(held?.length ?? 0);
    const { length } = merged({})();
    expect(merged({ maxBytes: length })().length).to.equal(length);
    expect(merged({ maxBytes: length / 2 })).to.throw(FlagSetsTooLargeError);
  });

  for (const shape of ["lists", "flags", "metadata", "references"])
    it(`survives 3 MB of ${shape} in a process with a heap of 40 MB`, async function () {
      this.timeout(60_000);
      const args = ["--max-old-space-size=40", "--max-semi-space-size=1"];
      args.push("--conditions=@bunting/source", "--import=tsx", child, shape);
      const { stdout } = await promisify(execFile)(process.execPath, args);
      expect(stdout).to.equal("too large");
    });
});
