import { expect } from "chai";
import { defineMetrics } from "./define-metrics.js";
import { label } from "./labelled-values.js";
import {
  booleanGauge,
  counter,
  detailed,
  gauge,
  histogram,
  observed,
  sizedCounter,
  stateSet,
  transientGauge,
  upDownCounter,
} from "./metric-kinds.js";
import { createRegistry } from "./metrics.js";

const defined = defineMetrics({
  read: counter("x_read_total", "Reads."),
  asked: counter(
    "x_asked_total",
    "Questions.",
    label("kind", "token", "page"),
    label("result", "granted", "refused"),
  ),
  failed: counter("x_failed_total", "Failures.", label<string>("reason")),
  sent: sizedCounter(["x_sent_total", "Messages."], ["x_sent_bytes_total", "Bytes."], label<string>("kind")),
  held: upDownCounter("x_held", "Held.", label<string>("by")),
  lost: transientGauge("x_lost", "Lost.", label<string>("by"), label<string>("where")),
  isUp: booleanGauge("x_up", "Up.", label<number>("source")),
  validTo: gauge("x_valid_to_timestamp_seconds", "Until."),
  state: stateSet("x_state", "State.", ["state", ["on", "off"]]),
  spoken: stateSet("x_spoken", "Spoken.", ["language", ["a", "b"]], label<number>("source")),
  sized: gauge("x_sized", "Sized.", label<number>("source")),
  took: histogram("x_took_seconds", "Took.", [0.01, 0.1]),
  shared: histogram("x_shared_seconds", "Shared.", [0.01, 0.1], label<number>("share")),
  report: observed<{ readonly ages: Readonly<Record<string, number>>; readonly size: number }>(
    { ages: {}, size: 0 },
    [
      { name: "x_size", help: "Size.", of: ({ size }) => size },
      { name: "x_age_seconds", help: "Ages.", label: "of", of: ({ ages }) => Object.entries(ages) },
    ],
  ),
  invalid: detailed<"json" | "yaml">(counter("x_invalid_total", "Invalid.")),
});

describe("defineMetrics", () => {
  function useMetrics() {
    const registry = createRegistry(false);
    const lines = async (): Promise<string[]> =>
      (await registry.metrics()).split("\n").filter((line) => line.startsWith("x_"));
    return { registry, metrics: defined.create(registry), lines };
  }

  it("shows the series that are known before anything is recorded, and no others", async () => {
    expect((await useMetrics().lines()).filter((line) => !line.includes("_seconds"))).to.deep.equal([
      "x_read_total 0",
      'x_asked_total{kind="token",result="granted"} 0',
      'x_asked_total{kind="token",result="refused"} 0',
      'x_asked_total{kind="page",result="granted"} 0',
      'x_asked_total{kind="page",result="refused"} 0',
      'x_state{state="on"} 0',
      'x_state{state="off"} 0',
      "x_size 0",
      "x_invalid_total 0",
    ]);
  });

  it("adds to counters by their labels, in the order of the labels", async () => {
    const { metrics, lines } = useMetrics();
    metrics.read();
    metrics.read(4);
    metrics.asked("page", "granted");
    metrics.failed("closed");
    metrics.failed("closed", 2);
    metrics.sent("delta", 20);
    metrics.sent("delta", 30);
    metrics.held("a", 3);
    metrics.held("a", -1);
    metrics.invalid("yaml");
    expect(await lines()).to.include.members([
      "x_read_total 5",
      'x_asked_total{kind="page",result="granted"} 1',
      'x_asked_total{kind="page",result="refused"} 0',
      'x_failed_total{reason="closed"} 3',
      'x_sent_total{kind="delta"} 2',
      'x_sent_bytes_total{kind="delta"} 50',
      'x_held{by="a"} 2',
      "x_invalid_total 1",
    ]);
    expect(await lines(), "asking twice counts nothing twice").to.include("x_read_total 5");
  });

  it("ends a series of something that is no more", async () => {
    const { metrics, lines } = useMetrics();
    metrics.lost("a", "here", 2);
    metrics.lost("a", "there", 1);
    metrics.lost("a", "here", 0);
    expect((await lines()).filter((line) => line.startsWith("x_lost"))).to.deep.equal([
      'x_lost{by="a",where="there"} 1',
    ]);
    expect(metrics.lost.read("a", "here")).to.equal(0);
    metrics.lost("a", "here", 3);
    expect(await lines()).to.include('x_lost{by="a",where="here"} 3');
    metrics.lost("a", "here", 0);
    expect(await lines(), "after it was scraped").not.to.include('x_lost{by="a",where="here"} 3');
  });

  it("ends the series of gauges whose thing is gone, when they are told so", async () => {
    const { metrics, lines } = useMetrics();
    const shown = async (): Promise<readonly string[]> =>
      (await lines()).filter((line) => /^x_(up|spoken|sized)/.test(line));
    for (const source of [1, 2]) {
      metrics.isUp(source, true);
      metrics.spoken(source, "a");
      metrics.sized(source, 3);
    }
    expect(await shown()).to.have.length(8);
    metrics.isUp(1, null);
    metrics.spoken(1, "");
    metrics.sized(1, null);
    // Of a place that never had one.
    metrics.spoken(3, "");
    expect(await shown()).to.deep.equal([
      'x_up{source="2"} 1',
      'x_spoken{source="2",language="a"} 1',
      'x_spoken{source="2",language="b"} 0',
      'x_sized{source="2"} 3',
    ]);
  });

  it("begins a series of one label when it is recorded first, and goes on with it", async () => {
    const { metrics, lines } = useMetrics();
    const heard: unknown[][] = [];
    metrics.sent.listen((...args) => heard.push(args));
    metrics.sent("delta", 0);
    metrics.sent("snapshot", 900);
    metrics.sent("snapshot", 100);
    metrics.held("b", 1);
    expect((await lines()).filter((line) => /^x_(sent|held)/.test(line))).to.deep.equal([
      'x_sent_total{kind="delta"} 1',
      'x_sent_total{kind="snapshot"} 2',
      'x_sent_bytes_total{kind="delta"} 0',
      'x_sent_bytes_total{kind="snapshot"} 1000',
      'x_held{by="b"} 1',
    ]);
    expect(metrics.sent.read("snapshot")).to.equal(2);
    expect(heard).to.deep.equal([
      ["delta", 0],
      ["snapshot", 900],
      ["snapshot", 100],
    ]);
  });

  it("has the last value in gauges, and one state of several", async () => {
    const { metrics, lines } = useMetrics();
    metrics.isUp(1, true);
    metrics.isUp(2, true);
    metrics.isUp(2, false);
    metrics.state("on");
    metrics.state("off");
    metrics.spoken(7, "a");
    metrics.spoken(8, "b");
    metrics.spoken(7, "b");
    expect(await lines()).to.include.members([
      'x_up{source="1"} 1',
      'x_up{source="2"} 0',
      'x_state{state="on"} 0',
      'x_state{state="off"} 1',
      'x_spoken{source="7",language="a"} 0',
      'x_spoken{source="7",language="b"} 1',
      'x_spoken{source="8",language="a"} 0',
      'x_spoken{source="8",language="b"} 1',
    ]);
  });

  it("is given ms where the name says seconds", async () => {
    const { metrics, lines } = useMetrics();
    metrics.took(20);
    metrics.shared(0.5, 200);
    metrics.validTo(1_500);
    metrics.report(() => ({ size: 3, ages: { a: 2_500 } }));
    expect(await lines()).to.include.members([
      'x_took_seconds_bucket{le="0.01"} 0',
      'x_took_seconds_bucket{le="0.1"} 1',
      "x_took_seconds_sum 0.02",
      'x_shared_seconds_bucket{le="0.1",share="0.5"} 0',
      'x_shared_seconds_count{share="0.5"} 1',
      "x_valid_to_timestamp_seconds 1.5",
      "x_size 3",
      'x_age_seconds{of="a"} 2.5',
    ]);
  });

  it("ends the series of what a report has no more", async () => {
    const { metrics, lines } = useMetrics();
    metrics.report(() => ({ size: 1, ages: { a: 1_000 } }));
    expect(await lines()).to.include('x_age_seconds{of="a"} 1');
    metrics.report(() => ({ size: 1, ages: { b: 2_000 } }));
    expect((await lines()).filter((line) => line.startsWith("x_age_"))).to.deep.equal([
      'x_age_seconds{of="b"} 2',
    ]);
  });

  it("tells a value without beginning a series", async () => {
    const { metrics, lines } = useMetrics();
    metrics.asked("token", "refused");
    metrics.held("a", 2);
    const report = { size: 1, ages: {} };
    metrics.report(() => report);
    expect(metrics.asked.read("token", "refused")).to.equal(1);
    expect(metrics.held.read("a")).to.equal(2);
    expect(metrics.held.read("b")).to.equal(0);
    expect(metrics.report.read()).to.equal(report);
    expect(await lines()).to.not.include('x_held{by="b"} 0');
  });

  it("tells a listener of each record", () => {
    const { metrics } = useMetrics();
    const heard: unknown[][] = [];
    metrics.read.listen((...args) => heard.push(["read", ...args]));
    metrics.asked.listen((...args) => heard.push(["asked", ...args]));
    metrics.failed.listen((...args) => heard.push(["failed", ...args]));
    metrics.invalid.listen((detail) => heard.push(["invalid", detail]));
    metrics.read();
    metrics.asked("page", "refused");
    metrics.failed("closed", 2);
    metrics.invalid("json");
    expect(heard).to.deep.equal([
      ["read", 1],
      ["asked", "page", "refused", 1],
      ["failed", "closed", 2],
      ["invalid", "json"],
    ]);
  });

  it("works without a registry, for tests", () => {
    const metrics = defined.create();
    metrics.read(2);
    expect(metrics.read.read()).to.equal(2);
    expect(() => defined.create(), "nothing is registered globally").to.not.throw();
  });
});
