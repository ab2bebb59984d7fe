import { expect } from "chai";
import { proxyMetrics } from "../../proxy-metrics.js";
import { StatusObservations } from "./status-observations.js";

describe("StatusObservations", () => {
  function useObservations() {
    let nowMs = 1_000;
    const metrics = proxyMetrics();
    const observations = new StatusObservations(metrics, () => nowMs);
    const kinds = (group: string): string[] => observations.tally.of(group).map(({ what }) => what);
    return { metrics, observations, kinds, pass: (ms: number) => (nowMs += ms) };
  }

  it("tells how often each limit was hit, and when last", () => {
    const { metrics, observations, pass } = useObservations();
    const hits = [
      () => metrics.queuedStarts(1),
      () => metrics.refused("topics_per_address"),
      () => metrics.connectionEnded("flood"),
      () => metrics.requestRefused("headers"),
      () => metrics.stalled(),
      () => metrics.streamLimitReached(),
      () => metrics.callDelayed(),
      () => metrics.ackTimedOut(),
    ];
    for (const hit of hits) {
      pass(10);
      hit();
    }
    metrics.queuedStarts(-1);
    metrics.requestRefused("stalled");
    expect(
      observations.tally.of("limit").map(({ what, count, lastMs }) => [what, count, lastMs]),
    ).to.deep.equal([
      ["ack_timeout", 1, 1_080],
      ["calls_delayed", 1, 1_070],
      ["streams", 1, 1_060],
      ["stalled", 1, 1_050],
      ["request/headers", 1, 1_040],
      ["ended/flood", 1, 1_030],
      ["refused/topics_per_address", 1, 1_020],
      ["queued", 1, 1_010],
    ]);
  });

  it("tells what the source met with", () => {
    const { metrics, kinds } = useObservations();
    metrics.relisted("expired");
    metrics.watchEvent("MODIFIED");
    metrics.sourceError("forbidden");
    metrics.documentInvalid("duplicate");
    expect(kinds("relist")).to.deep.equal(["expired"]);
    expect(kinds("event")).to.deep.equal(["MODIFIED"]);
    expect(kinds("error")).to.have.members(["forbidden", "invalid/duplicate"]);
  });

  it("reads what waits and is subscribed from the metrics, and knows a source that watches a cluster", () => {
    const { metrics, observations } = useObservations();
    metrics.heldSubscribers(3);
    metrics.heldSubscribers(-1);
    metrics.queuedStarts(4);
    metrics.agentSubscriptions(5);
    const { held, queued, agentSubscriptions, isCluster } = observations;
    expect({ held, queued, agentSubscriptions, isCluster }).to.deep.equal({
      held: 2,
      queued: 4,
      agentSubscriptions: 5,
      isCluster: false,
    });
    const read = metrics.watchCounts.read();
    metrics.watchCounts(() => read);
    expect(observations.isCluster).to.equal(true);
  });

  it("keeps the history of publications and convergence", () => {
    const { metrics, observations } = useObservations();
    metrics.snapshotPublished(10);
    metrics.converged(1, 25);
    const { published, allMs } = observations.history.read();
    expect(published).to.include(1);
    expect(allMs).to.include(25);
  });
});
