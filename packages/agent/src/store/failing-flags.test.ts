import { ManualClock } from "@bunting/test/support/manual-clock.js";
import type { Flag } from "@bunting/evaluation";
import { expect } from "chai";
import type { FailingFlag } from "../sync/sync-source.js";
import { FailingFlags } from "./failing-flags.js";
import type { FlagChange } from "./flag-change.js";

function change(key: string, type: FlagChange["type"] = "update", sourceIndex = 1): FlagChange {
  const flag = { key, sourceIndex } as Flag;
  const before = type === "write" ? undefined : flag;
  return { key, flagSetId: "", type, before, after: type === "delete" ? undefined : flag };
}

describe("FailingFlags", () => {
  let clock: ManualClock;
  let noticed: FailingFlag[];
  let flags: FailingFlags;
  beforeEach(() => {
    clock = new ManualClock();
    noticed = [];
    flags = new FailingFlags(clock);
    flags.found.listen((one) => noticed.push(one));
  });

  const fail = (key: string, times: number, everyMs = 0, code = "TYPE_MISMATCH"): void => {
    for (let time = 0; time < times; time++) {
      clock.advance(everyMs);
      flags.failed(key, code);
    }
  };

  it("names a changed flag, and its source, with the fifth failure, and once", () => {
    flags.changed({ changes: [change("a")] });
    fail("a", 4, 1_000);
    expect(noticed).to.deep.equal([]);
    fail("a", 3, 1_000);
    const reason = "its evaluations fail since this version: 5 in 5 s, the last with TYPE_MISMATCH";
    expect(noticed).to.deep.equal([{ sourceIndex: 1, key: "a", reason }]);
  });

  it("names a flag that is gone and still asked for", () => {
    flags.changed({ changes: [change("a", "delete", 2)] });
    fail("a", 5, 0, "FLAG_NOT_FOUND");
    expect(noticed.map(({ sourceIndex, key }) => [sourceIndex, key])).to.deep.equal([[2, "a"]]);
  });

  it("remembers no key that is longer than those of flags, of which clients or edits could make up enough to fill the heap", () => {
    const [longest, longer] = ["k".repeat(256), "k".repeat(257)];
    flags.changed({ changes: [change(longest, "delete"), change(longer, "delete")] });
    fail(longest, 5);
    fail(longer, 5);
    flags.changed({ changes: Array.from({ length: 1_000 }, (_, i) => change(`${longer}${i}`)) });
    flags.changed({ changes: [change("a")] });
    fail("a", 5);
    expect(noticed.map(({ key }) => key)).to.deep.equal([longest, "a"]);
  });

  it("holds it against the source that has changed what is served where another has the flag as well", () => {
    const of = (sourceIndex: number): Flag => ({ key: "a", sourceIndex }) as Flag;
    const seen = (from: number, to: number): unknown => {
      flags.changed({ changes: [{ ...change("a"), before: of(from), after: of(to) }] });
      fail("a", 100);
      return noticed.at(-1)?.sourceIndex;
    };
    expect(seen(3, 1), "which has removed it").to.equal(3);
    clock.advance(121_000);
    expect(seen(1, 2), "which has added it").to.equal(2);
  });

  it("holds nothing against a version where flags have other sources since then", () => {
    flags.changed({ changes: [change("a"), change("b", "delete", 2)] });
    fail("a", 4);
    flags.forget();
    fail("a", 9);
    fail("b", 9);
    expect(noticed).to.deep.equal([]);
    flags.changed({ changes: [change("a")] });
    fail("a", 40);
    expect(noticed, "but later ones").to.have.length(1);
  });

  it("holds nothing against a flag that failed as often before", () => {
    fail("a", 120, 500);
    flags.changed({ changes: [change("a")] });
    fail("a", 120, 500);
    expect(noticed).to.deep.equal([]);
    fail("a", 300, 50);
    expect(noticed).to.have.length(1);
  });

  it("forgets failures of more than two minutes before", () => {
    fail("a", 120, 500);
    clock.advance(121_000);
    flags.changed({ changes: [change("a")] });
    fail("a", 5);
    expect(noticed).to.have.length(1);
  });

  it("holds nothing against flags that are as they were, or new, nor after ten minutes", () => {
    flags.changed({ changes: [change("new", "write"), change("old")] });
    fail("other", 100);
    fail("new", 100);
    clock.advance(600_001);
    fail("old", 100);
    expect(noticed).to.deep.equal([]);
  });

  it("begins anew with each change", () => {
    flags.changed({ changes: [change("a")] });
    fail("a", 5);
    clock.advance(121_000);
    flags.changed({ changes: [change("a")] });
    fail("a", 4);
    expect(noticed).to.have.length(1);
    fail("a", 1);
    expect(noticed).to.have.length(2);
  });

  it("watches no more than a thousand flags, of which old ones make room", () => {
    flags.changed({ changes: Array.from({ length: 1_001 }, (_, i) => change(`flag-${i}`)) });
    fail("flag-999", 5);
    fail("flag-1000", 5);
    expect(noticed.map(({ key }) => key)).to.deep.equal(["flag-999"]);
    clock.advance(600_001);
    flags.changed({ changes: [change("flag-1000")] });
    fail("flag-1000", 5);
    expect(noticed).to.have.length(2);
  });

  it("watches a flag that is edited soon after a change of more flags than it watches", () => {
    flags.changed({ changes: Array.from({ length: 1_500 }, (_, i) => change(`flag-${i}`)) });
    clock.advance(1);
    flags.changed({ changes: [change("flag-1200")] });
    fail("flag-1200", 5);
    expect(noticed.map(({ key }) => key)).to.deep.equal(["flag-1200"]);
  });
});
