import { expect } from "chai";
import type { StoredRecord } from "@bunting/backplane";
import { knownOf, storedRecordOf, type Known } from "./known.js";

describe("the state of a topic in Redis", () => {
  const stored = (record: StoredRecord["record"]): StoredRecord => ({ record, fence: 1, confirmedAgoMs: 0 });
  const known = (readers?: ReadonlySet<string>): Known => ({
    kind: "document",
    document: { flags: {} },
    epoch: 1,
    resourceVersion: "7",
    version: { noticedMs: 5, resourceVersion: "7", ...(readers === undefined ? {} : { readers }) },
  });

  it("has the readers of its version, also where there are none, so that followers need not know them otherwise", () => {
    for (const readers of [new Set(["team-b", "team-c/web"]), new Set<string>()]) {
      const record = storedRecordOf("team-a/flags", known(readers));
      expect(record.readers).to.deep.equal([...readers]);
      expect(knownOf(stored(record), 9).version.readers).to.deep.equal(readers);
    }
  });

  it("says nothing of readers where the owner did not, as one of an earlier release", () => {
    const record = storedRecordOf("team-a/flags", known());
    expect(record).not.to.have.property("readers");
    expect(knownOf(stored(record), 9).version).not.to.have.property("readers");
  });
});
