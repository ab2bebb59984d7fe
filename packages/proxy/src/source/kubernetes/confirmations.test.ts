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
  it("have a watch in sync read its scope again where many seem gone, and leave one that is down to its backoff", () => {
    const clock = new ManualClock();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const log = new KubernetesLog(logger, new CountingMetrics(), clock, "auto");
    const records = new RecordIndex();
    for (let index = 0; index < many; index++) {
      const sink = new RecordingSink();
      const record = new FlagRecord({ topic: `ns/${index}`, sink, clock, log, onChange: () => undefined });
      records.add(record);
      const metadata = { namespace: "ns", name: String(index) };
      record.offer({ metadata, spec: {} }, "1", 1, true);
      record.gone("2", 1);
    }
    let relists = 0;
    const watch = {
      isSynced: false,
      relist: (): void => {
        relists++;
      },
    };
    const confirmations = new Confirmations({
      records,
      clock,
      watchOf: () => watch,
      read: ({ topic }) => expect.fail(`${topic} is read alone`),
    });
    confirmations.seemsGone();
    clock.advance(confirmAfterMs);
    expect(relists).to.equal(0);
    watch.isSynced = true;
    clock.advance(60_000);
    expect(relists).to.equal(1);
    confirmations.stop();
  });
});
