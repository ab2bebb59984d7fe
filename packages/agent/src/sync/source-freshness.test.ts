import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { recordingLogger } from "../api/api.fixture.js";
import { SourceFreshness } from "./source-freshness.js";
import { noSyncMetrics } from "./sync-metrics.fixture.js";

interface Seen {
  readonly clock: ManualClock;
  readonly freshness: SourceFreshness;
  readonly stop: () => void;
  readonly stale: () => readonly number[];
  readonly gauges: Map<number, boolean>;
  readonly unconfirmed: () => readonly (readonly [number, number])[];
  readonly lines: () => readonly string[];
}

function follow(staleAfterMs: number): Seen {
  const clock = new ManualClock();
  const logger = recordingLogger();
  const gauges = new Map<number, boolean>();
  let stale: readonly number[] = [];
  const freshness = new SourceFreshness({
    sources: [
      { provider: "grpc", uri: "proxy:8015", selector: "shop/a", sourceIndex: 0 },
      { provider: "file", uri: "b.json", selector: "", sourceIndex: 1 },
      { provider: "unsupported", uri: "s3://c", selector: "", sourceIndex: 2 },
    ],
    staleAfterMs,
    evaluator: { setStale: (sources) => (stale = [...sources]) },
    context: {
      clock,
      logger,
      metrics: {
        ...noSyncMetrics,
        stale: (source, isStale) => gauges.set(source, isStale === true),
      },
    },
  });
  const abort = new AbortController();
  void freshness.run(abort.signal);
  return {
    clock,
    freshness,
    stop: () => abort.abort(),
    stale: () => stale,
    gauges,
    unconfirmed: () => [...freshness.unconfirmed()],
    lines: () => logger.lines.map(({ level, message }) => `${level} ${message}`),
  };
}

const gone =
  "warn the source has been away, or its newest document refused, for longer than --stale-after: its flags are answered with reason STALE";
const back = "info the source is back: its flags are no longer answered with reason STALE";

describe("SourceFreshness", () => {
  it("counts a source as stale that has been away for longer than it may, until it confirms its flags", () => {
    const { clock, freshness, stale, gauges, lines } = follow(10_000);
    freshness.confirmed(0);
    freshness.confirmed(1);
    clock.advance(60_000);
    expect(stale(), "confirmed, and quiet").to.deep.equal([]);

    freshness.lost(0);
    clock.advance(9_000);
    freshness.lost(0);
    expect(stale()).to.deep.equal([]);
    clock.advance(1_000);
    expect(stale(), "since the first loss").to.deep.equal([0]);
    expect(gauges.get(0)).to.equal(true);
    expect([freshness.isStale(0), freshness.isStale(1)]).to.deep.equal([true, false]);
    freshness.lost(1);
    clock.advance(10_000);
    expect(stale()).to.deep.equal([0, 1]);

    freshness.confirmed(0);
    expect(stale()).to.deep.equal([1]);
    expect(gauges.get(0)).to.equal(false);
    expect(lines()).to.deep.equal([gone, gone, back]);
  });

  it("counts sources that never answered from the start on, but none that is not supported", () => {
    const { clock, stale, gauges, unconfirmed } = follow(5_000);
    clock.advance(5_000);
    expect(stale()).to.deep.equal([0, 1]);
    expect(gauges.get(2)).to.equal(false);
    expect(unconfirmed()).to.deep.equal([
      [0, 5_000],
      [1, 5_000],
    ]);
  });

  it("forgets a loss that ends in time, and keeps no timer when it stops", async () => {
    const { clock, freshness, stale, unconfirmed, stop } = follow(5_000);
    freshness.confirmed(1);
    clock.advance(4_000);
    expect(unconfirmed()[0]).to.deep.equal([0, 4_000]);
    freshness.confirmed(0);
    expect(unconfirmed()[0]).to.deep.equal([0, 0]);
    freshness.lost(0);
    clock.advance(4_000);
    expect(stale()).to.deep.equal([]);
    stop();
    await eventually(() => clock.pendingTimers === 0, "no timer is left");
    freshness.lost(1);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("never counts a source as stale without --stale-after, and starts no timer", () => {
    const { clock, stale, unconfirmed } = follow(0);
    expect(clock.pendingTimers).to.equal(0);
    clock.advance(3_600_000);
    expect(stale()).to.deep.equal([]);
    expect(unconfirmed()[0]).to.deep.equal([0, 3_600_000]);
  });
});
