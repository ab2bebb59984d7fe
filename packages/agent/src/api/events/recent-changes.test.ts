import type { JsonObject } from "@bunting/protocol";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { createSelections } from "../selection.js";
import { createWorld, type World, recentMs } from "../api.fixture.js";
import { RecentChanges } from "./recent-changes.js";

const set = (keys: readonly string[], flagSetId = "", defaultVariant = "on"): JsonObject => ({
  flags: Object.fromEntries(
    keys.map((key) => [key, { state: "ENABLED", variants: { on: true, off: false }, defaultVariant }]),
  ),
  ...(flagSetId === "" ? {} : { metadata: { flagSetId } }),
});

interface Followed {
  readonly world: World;
  readonly recent: RecentChanges;
  readonly of: (selector?: string) => Readonly<Record<string, string>>;
}

/** Time passes with every look at it, as it does on a machine. */
class ClockThatPasses extends ManualClock {
  override monotonicMs(): number {
    this.advance(0.001);
    return super.monotonicMs();
  }
}

/** The recent changes of a store that has two documents. */
function follow(...documents: readonly JsonObject[]): Followed {
  const world = createWorld({ documents });
  const recent = new RecentChanges(world.clock, world.store, recentMs);
  world.store.onChange(({ changes }) => recent.add(changes));
  const selections = createSelections();
  const of = (selector?: string): Readonly<Record<string, string>> =>
    Object.fromEntries(recent.of(selections.of(selector).select));
  return { world, recent, of };
}

describe("RecentChanges", () => {
  it("are all flags while the agent is young, since clients may know those of an agent before", () => {
    const { world, of } = follow(set(["a"]), set(["b"], "other"));
    expect(of()).to.deep.equal({ a: "update", b: "update" });
    expect(of("flagSetId=other")).to.deep.equal({ b: "update" });
    world.clock.advance(recentMs - 1);
    world.put(set(["a", "late"]));
    expect(of()).to.deep.equal({ a: "update", b: "update", late: "update" });
    world.clock.advance(1);
    expect(of()).to.deep.equal({ late: "update" });
  });

  it("are later those flags that were written, changed or deleted lately, each as it is now", () => {
    const { world, recent, of } = follow(set(["a", "b", "c"]));
    world.clock.advance(recentMs);
    expect(of()).to.deep.equal({});
    const { version } = recent;
    world.put(set(["a", "b"]));
    world.clock.advance(recentMs / 2);
    world.put(set(["a"]));
    world.put(set(["a", "b", "d"]));
    expect(of()).to.deep.equal({ c: "delete", b: "update", d: "update" });
    world.clock.advance(recentMs / 2);
    expect(of()).to.deep.equal({ b: "update", d: "update" });
    world.clock.advance(recentMs / 2);
    expect(of()).to.deep.equal({});
    expect(recent.version).to.be.greaterThan(version);
  });

  it("are, for a selector, those of its set: one that left it is deleted", () => {
    const { world, of } = follow(set(["a", "b"]), set(["a"], "other"));
    world.clock.advance(recentMs);
    world.put(set(["a"], "other", "off"), 1);
    expect(of("flagSetId=")).to.deep.equal({});
    expect(of("flagSetId=other")).to.deep.equal({ a: "update" });
    expect(of("source=source-1")).to.deep.equal({ a: "update" });
    world.put(set(["a", "b"], "other"), 0);
    expect(of("source=source-0")).to.include({ b: "update" });
    expect(of("flagSetId=")).to.deep.equal({ a: "delete", b: "delete" });
  });

  it("name a flag that moved to another source to those who select the one that it left", () => {
    const { world, of } = follow(set(["a"]), set([]));
    world.clock.advance(recentMs);
    world.put(set(["a"], "", "off"), 1);
    expect(of("source=source-0")).to.deep.equal({ a: "delete" });
    expect(of("source=source-1")).to.deep.equal({ a: "update" });
  });

  it("are all flags for longer when a young agent gets its first flags, which then need no entries", () => {
    const { world, of } = follow(set(["a"]), set([]));
    world.clock.advance(1_000);
    const first = Array.from({ length: 256 }, (_, index) => `first-${index}`);
    world.put(set(first), 1);
    world.clock.advance(recentMs - 1);
    expect(of()).to.deep.equal(Object.fromEntries(["a", ...first].map((key) => [key, "update"])));
    world.put(set(["a", "late"]));
    world.clock.advance(1);
    expect(of()).to.deep.equal({ late: "update" });
    // Not young any more: each by itself.
    world.put(set([]), 1);
    expect(Object.keys(of())).to.have.members(["late", ...first]);
  });

  it("take bounded memory: beyond it all flags count as changed, and of those that are gone the oldest are forgotten", () => {
    const { world, of } = follow(set(["stays"]));
    world.clock.advance(recentMs);
    // An entry of each takes more than two bytes for each character.
    const wide = (from: number): string[] =>
      Array.from({ length: 100 }, (_, index) => `${from + index}`.padEnd(4_000, "x"));
    const gone = ["gone", ...wide(0)];
    world.put(set(["stays", ...gone]));
    world.put(set(["stays"]));
    expect(of()).to.include({ gone: "delete" });
    world.put(set(["stays", ...wide(1_000)]));
    expect(of(), "there was no room, so that any flag may have changed").to.include({ stays: "update" });
    expect(of()).to.include({ gone: "delete", [wide(1_000)[99] ?? ""]: "update" });
    world.put(set(["stays"]));
    const deleted = Object.entries(of()).filter(([, type]) => type === "delete");
    expect(deleted.length).to.be.within(100, 131);
    expect(deleted.map(([key]) => key)).to.include(wide(1_000)[99]);
    expect(of()).not.to.include({ gone: "delete" });
    world.clock.advance(recentMs);
    expect(of()).to.deep.equal({});
  });

  it("take time that grows with the changes alone when more flags go at once than there is room for", () => {
    const world = createWorld({
      documents: [set(Array.from({ length: 20_000 }, (_, index) => `flag-${index}`))],
    });
    let lookUps = 0;
    const clock = new ClockThatPasses();
    const flags = {
      flags: () => world.store.flags(),
      flag: (flagSetId: string, key: string) => {
        lookUps++;
        return world.store.flag(flagSetId, key);
      },
    };
    const recent = new RecentChanges(clock, flags, recentMs);
    world.store.onChange(({ changes }) => recent.add(changes));
    world.put(set(["other"]));
    expect(lookUps).to.be.lessThan(2 * 20_000);
  });
});
