import { confirmAfterMs } from "@bunting/kube";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { CountingMetrics, RecordingSink } from "../source.fixture.js";
import { Confirmations } from "./confirmations.js";
import { FlagRecord } from "./flag-record.js";
import { KubernetesLog } from "./kubernetes-log.js";
import { RecordIndex } from "./record-index.js";

/** More than are read one by one. */
const many = 40;

describe("Confirmations", () => {
  let clock: ManualClock;
  let records: RecordIndex;
  let watch: { isSynced: boolean; relists: number; relist: () => void };
  let confirmations: Confirmations;
  const read: string[] = [];
  beforeEach(() => {
    clock = new ManualClock();
    records = new RecordIndex();
    watch = {
      isSynced: true,
      relists: 0,
      relist: () => {
        watch.relists++;
      },
    };
    read.length = 0;
    confirmations = new Confirmations({
      records,
      clock,
      watchOf: () => watch,
      read: ({ topic }) => void read.push(topic),
    });
  });
  afterEach(() => confirmations.stop());

  /** FeatureFlags that exist. */
  const add = (...names: readonly string[]): FlagRecord[] => {
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const log = new KubernetesLog(logger, new CountingMetrics(), clock, "auto");
    return names.map((name) => {
      const sink = new RecordingSink();
      const record = new FlagRecord({ topic: `ns/${name}`, sink, clock, log, onChange: () => undefined });
      record.offer({ metadata: { namespace: "ns", name }, spec: {} }, "1", 1, true);
      records.add(record);
      return record;
    });
  };
  const gone = (gone: readonly FlagRecord[], resourceVersion: string): void => {
    for (const record of gone) record.gone(resourceVersion, 1);
    confirmations.seemsGone();
  };
  const manyNames = Array.from({ length: many }, (_, index) => String(index));

  it("have a watch in sync read its scope again where many seem gone, and leave one that is down to its backoff", () => {
    watch.isSynced = false;
    gone(add(...manyNames), "2");
    clock.advance(confirmAfterMs);
    expect(watch.relists).to.equal(0);
    watch.isSynced = true;
    clock.advance(60_000);
    expect(watch.relists).to.equal(1);
    expect(read).to.deep.equal([]);
  });

  it("do not have one that seems gone wait for the next look at many before it", () => {
    const before = add(...manyNames);
    const late = add("late");
    gone(before, "2");
    clock.advance(confirmAfterMs);
    expect(watch.relists).to.equal(1);
    const readMs = clock.monotonicMs();
    for (const record of before) record.absent("3", 1, readMs);
    clock.advance(1_000);
    gone(late, "4");
    clock.advance(confirmAfterMs);
    expect(read).to.deep.equal(["ns/late"]);
  });
});
