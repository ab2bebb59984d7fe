import { Epochs, type KubeObject } from "@bunting/kube";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { ProxyError } from "../../proxy-error.js";
import { CountingMetrics, flags, RecordingSink, textOf } from "../source.fixture.js";
import { FlagRecord } from "./flag-record.js";
import { KubernetesLog } from "./kubernetes-log.js";
import { inShort } from "./kubernetes.fixture.js";
import { RecordIndex } from "./record-index.js";
import { beginRecordRead } from "./record-read.js";
import { clusterKey } from "./watch-key.js";

function useRecord() {
  const clock = new ManualClock();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const log = new KubernetesLog(logger, new CountingMetrics(), clock, "auto");
  const sink = new RecordingSink();
  const record = new FlagRecord({ topic: "ns/a", sink, clock, log, onChange: () => undefined });
  const records = new RecordIndex();
  records.add(record);
  const epochs = new Epochs();
  return {
    record,
    records,
    epochs,
    sink,
    reported: () => sink.events.map(inShort),
    read: () => beginRecordRead({ audience: records.audience(clusterKey), epochs, clock }),
  };
}

function object(version: number, generation: number): KubeObject {
  const metadata = { namespace: "ns", name: "a", uid: "u", generation };
  return { metadata, spec: { flagSpec: flags(version) } };
}

describe("a FlagRecord", () => {
  it("takes an event of its generation for an edit of metadata, but not where history was cut: the spec may be another", () => {
    const { record, epochs, sink, reported } = useRecord();
    record.offer(object(1, 2), "10", epochs.current, true);
    record.offer(object(1, 2), "11", epochs.current, true);
    expect(sink.sameDocuments).to.equal(1);
    epochs.cut(epochs.current);
    record.offer(object(5, 2), "9", epochs.current, true);
    expect(reported()).to.deep.equal(["10", "11", "9"]);
    expect(sink.sameDocuments).to.equal(1);
    expect(sink.lastText).to.equal(textOf(5));
  });

  it("gives the reason of a refusal again after an outage, also if only metadata was edited meanwhile", () => {
    const { record, epochs, sink } = useRecord();
    const refused = (): KubeObject => ({ ...object(1, 1), spec: { flagSpec: { flags: [1] } } });
    const reasons = (): (string | undefined)[] =>
      sink.events.map((event) => (event.kind === "stale" ? event.reason.message.split(":")[0] : event.kind));
    record.offer(refused(), "10", epochs.current, true);
    record.offer(refused(), "11", epochs.current, true);
    record.stale(new Error("the API server is away"));
    record.offer(refused(), "12", epochs.current, true);
    expect(reasons()).to.deep.equal([
      "the FeatureFlag is refused",
      "the API server is away",
      "the FeatureFlag is refused",
    ]);
    record.stale(new Error("the API server is away again"));
    expect(reasons()).to.have.length(4);
  });

  it("reports a version again that its sink had no memory for, with each new resourceVersion and when it is to be offered again", () => {
    const { record, epochs, sink, reported } = useRecord();
    const take = sink.report.bind(sink);
    let hasRoom = false;
    let asked = 0;
    sink.report = (report) => {
      if (report.kind === "document") asked++;
      if (report.kind === "document" && !hasRoom)
        throw new ProxyError("DOCUMENT_CROWDED_OUT", "there is no memory");
      take(report);
    };
    record.offer(object(1, 1), "10", epochs.current, true);
    record.offer(object(1, 1), "10", epochs.current, false);
    expect(asked, "once for a version that is known").to.equal(1);
    record.offer(object(1, 1), "11", epochs.current, true);
    expect(asked, "an edit of metadata").to.equal(2);
    expect(reported()).to.deep.equal(["stale", "stale"]);
    hasRoom = true;
    record.offerAgain();
    record.offer(object(1, 1), "11", epochs.current, false);
    expect(reported()).to.deep.equal(["stale", "stale", "11"]);
    record.wasRead(0);
    record.offer(object(1, 1), "11", epochs.current, false);
    record.offer(object(1, 1), "12", epochs.current, true);
    expect(asked, "nothing is refused any more").to.equal(3);
    expect(sink.sameDocuments).to.equal(1);
  });
});

describe("a read of records", () => {
  it("that finds out that history was cut answers nobody: the next read does", () => {
    const { record, epochs, read } = useRecord();
    record.offer(object(1, 1), "10", epochs.current, true);
    // Of another FeatureFlag, by another watch.
    epochs.observe(epochs.current, "20");
    let done = 0;
    record.awaitRead(() => done++);
    const complete = (): void => {
      const start = epochs.beginRead();
      const one = read();
      one.add(object(1, 1), "10");
      const epoch = epochs.completeRead(start, "12");
      if (epoch !== undefined) one.complete("12", epoch);
    };
    complete();
    expect(epochs.current, "history was cut").to.equal(2);
    expect(done).to.equal(0);
    complete();
    expect(done).to.equal(1);
  });

  it("says nothing of a record that was dropped meanwhile", () => {
    const { record, records, epochs, read, reported } = useRecord();
    const one = read();
    records.delete(record);
    one.complete("12", epochs.current);
    expect(reported()).to.deep.equal([]);
    expect(record.lastReadMs).to.equal(undefined);
  });
});
