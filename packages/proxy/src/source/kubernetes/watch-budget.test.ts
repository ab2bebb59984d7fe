import type { TopicKey } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { CountingMetrics, flags, RecordingSink } from "../source.fixture.js";
import { FlagRecord } from "./flag-record.js";
import { KubernetesLog } from "./kubernetes-log.js";
import { WatchBudget } from "./watch-budget.js";

describe("WatchBudget", () => {
  let budget: WatchBudget;
  beforeEach(() => {
    budget = new WatchBudget();
  });

  const clock = new ManualClock();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const log = new KubernetesLog(logger, new CountingMetrics(), clock);
  let version = 0;

  function record(name: string): FlagRecord {
    const topic = `ns/${name}` as TopicKey;
    return new FlagRecord({ topic, sink: new RecordingSink(), clock, log, onChange: () => undefined });
  }
  function exists(flag: FlagRecord): FlagRecord {
    version++;
    const metadata = { name: flag.name, namespace: "ns", resourceVersion: String(version) };
    flag.offer({ metadata, spec: { flagSpec: flags(1) } }, String(version), 1, false);
    return flag;
  }
  function absent(flag: FlagRecord): FlagRecord {
    flag.absent(String(++version), 1, 0);
    return flag;
  }
  const many = (count: number, make: (flag: FlagRecord) => FlagRecord): FlagRecord[] =>
    Array.from({ length: count }, (_, index) => make(record(`flag-${index}`)));
  const admitted = (all: readonly FlagRecord[]): number => all.filter((flag) => budget.admits(flag)).length;

  it("has places for 2,000 FeatureFlags that exist and 512 that do not, first come, first served, for good", () => {
    const [existing, missing] = [many(2_001, exists), many(513, absent)];
    for (let turn = 0; turn < 2; turn++) {
      expect(admitted(existing)).to.equal(2_000);
      expect(admitted(missing)).to.equal(512);
    }
    expect(budget.admits(existing.at(-1) ?? record("none"))).to.equal(false);
    budget.release(existing[0] ?? record("none"));
    expect(budget.admits(existing.at(-1) ?? record("none"))).to.equal(true);
    expect(budget.admits(existing[0] ?? record("none"))).to.equal(false);
  });

  it("admits whatever is not known yet, and counts it nowhere", () => {
    expect(admitted(many(3_000, (flag) => flag))).to.equal(3_000);
    expect(admitted(many(512, absent))).to.equal(512);
  });

  it("gives the place among those that do not exist to another when one comes to be", () => {
    const missing = many(513, absent);
    expect(admitted(missing)).to.equal(512);
    exists(missing[0] ?? record("none"));
    expect(admitted(missing)).to.equal(513);
  });
});
