import { expect } from "chai";
import type { BroadcastSample } from "./broadcast.js";
import type { EntryName } from "./entry.js";
import { Measurements } from "./measurements.js";
import { reportFanOut } from "./report.js";

const bytes = 10_000;

function sample(entry: EntryName, round: number, changes: Partial<BroadcastSample> = {}): BroadcastSample {
  return {
    entry,
    bytes,
    round,
    tookMs: 100,
    publishedMs: 1_000,
    firstMs: 1,
    p50Ms: 50,
    p99Ms: 99,
    lastMs: 100,
    serverCpuUs: 10,
    serverWaitShare: 0,
    clientBusyShare: 0.5,
    messageBytes: bytes,
    kinds: { document: 10 },
    ...changes,
  };
}

function report(samples: readonly BroadcastSample[]) {
  return reportFanOut({
    measured: new Measurements(samples, []),
    targets: [],
    names: [...new Set(samples.map(({ entry }) => entry))],
    payloads: [bytes],
    roundsOf: () => 3,
    connections: 10,
    streams: 1,
    cores: { measured: 0, load: 1, description: "" },
    isQuick: false,
  });
}

describe("bench: the report of a fan-out case", () => {
  it("takes the median of the ratios of the same round, not the ratio of medians", () => {
    const took = { floor: [10, 100, 1000], publish: [30, 200, 1000] };
    const samples = [0, 1, 2].flatMap((round) => [
      sample("floor", round, { tookMs: took.floor[round] ?? NaN }),
      sample("publish", 2 - round, { tookMs: took.publish[2 - round] ?? NaN }),
    ]);
    expect(new Measurements(samples, []).medianRatio("publish", "floor", bytes)).to.equal(2);
    expect(report(samples).invalid).to.deep.equal([]);
  });

  it("does not count a server whose client was busy for over 90 % of the time in most rounds", () => {
    const busy = [0.95, 0.2, 0.96].map((clientBusyShare, round) =>
      sample("floor", round, { clientBusyShare }),
    );
    expect(report([...busy, sample("plain", 0)]).invalid).to.deep.equal([
      "client-limited: with floor: node:net at 10.0 KB the load client was busy for 95 % of the time",
    ]);
  });

  it("does not count a server if even one payload had another form than the measured one", () => {
    const form = [sample("gzip", 0, { kinds: { gzip: 9, document: 1 } }), sample("bunting", 0)];
    expect(report(form).invalid).to.deep.equal([
      "bunting-proxy, from publish, gzip at 10.0 KB: payloads were expected as gzip, but came as gzip and document",
      "bunting-proxy, from publish, bunting.sync.v1 at 10.0 KB: payloads were expected as delta, but came as document",
    ]);
  });

  it("warns of broadcasts during which another process used the server's core", () => {
    const { warnings } = report([sample("floor", 0, { serverWaitShare: 0.07 }), sample("floor", 1)]);
    expect(warnings).to.deep.equal([
      "in 1 of 2 broadcasts the server waited for its core for over 6 % of the time: something else ran on it",
    ]);
  });
});
