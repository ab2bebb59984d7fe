import { expect } from "chai";
import type { Flag } from "@bunting/evaluation";
import type { ChangeType, FlagChange } from "../../store/flag-change.js";
import { ChangeSet } from "./change-set.js";

function flag(key: string, flagSetId = ""): Flag {
  return {
    key,
    flagSetId,
    state: "ENABLED",
    variants: new Map(),
    defaultVariant: undefined,
    targeting: undefined,
    metadata: {},
    source: "",
    sourceIndex: 0,
  };
}

function change(key: string, type: ChangeType, flagSetId = ""): FlagChange {
  return {
    key,
    flagSetId,
    type,
    before: type === "write" ? undefined : flag(key, flagSetId),
    after: type === "delete" ? undefined : flag(key, flagSetId),
  };
}

const all = (...changes: FlagChange[]): ChangeSet => ChangeSet.select(changes, undefined);
const read = (set: ChangeSet): Record<string, ChangeType> => Object.fromEntries(set.byKey());

describe("ChangeSet", () => {
  it("keeps what a selector's clients see: entering their set is a write, leaving it a delete", () => {
    const moved = { ...change("a", "update"), before: flag("a", "mine"), after: flag("a", "other") };
    const changes = [moved, change("b", "update", "other"), change("c", "write", "mine")];
    expect(read(ChangeSet.select(changes, ({ flagSetId }) => flagSetId === "mine"))).to.deep.equal({
      a: "delete",
      c: "write",
    });
    expect(read(ChangeSet.select(changes, ({ flagSetId }) => flagSetId === "other"))).to.deep.equal({
      a: "write",
      b: "update",
    });
  });

  const sums: [ChangeType, ChangeType, ChangeType | undefined][] = [
    ["write", "update", "write"],
    ["write", "delete", undefined],
    ["update", "update", "update"],
    ["update", "delete", "delete"],
    ["delete", "write", "update"],
  ];
  for (const [first, second, sum] of sums) {
    it(`makes ${sum ?? "nothing"} of ${first} and ${second}`, () => {
      const set = all(change("a", first));
      set.add(all(change("a", second)));
      expect(read(set)).to.deep.equal(sum === undefined ? {} : { a: sum });
    });
  }

  it("keeps a deletion that must not cancel a write", () => {
    const set = all(change("a", "write"));
    set.add(all(change("a", "delete")), false);
    expect(read(set)).to.deep.equal({ a: "delete" });
  });

  it("treats flags with one key in two sets as two flags, and reports one updated key to clients", () => {
    const set = all(change("a", "write", "one"));
    set.add(all(change("a", "delete", "two")));
    expect(read(set)).to.deep.equal({ a: "update" });
    set.add(all(change("a", "delete", "one")));
    expect(read(set)).to.deep.equal({ a: "delete" });
  });

  it("treats a key called __proto__ like any other", () => {
    expect([...all(change("__proto__", "write")).byKey()]).to.deep.equal([["__proto__", "write"]]);
  });
});
