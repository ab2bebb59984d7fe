import type { InvalidFlag } from "@bunting/evaluation";
import { systemClock } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { SourceStatus } from "../sync/sync-source.js";
import { AwaitedSources } from "../sync/awaited-sources.js";
import { AgentReadiness } from "./agent-readiness.js";
import { StartLimits } from "./start-limits.js";

function status(over: Partial<SourceStatus>): SourceStatus {
  const now = systemClock.now();
  return {
    sourceIndex: 0,
    uri: "proxy:8015",
    selector: "demo/flags",
    state: "connected",
    since: now,
    lastUpdate: now,
    error: undefined,
    cause: undefined,
    proxyLost: undefined,
    protocol: undefined,
    warning: undefined,
    ...over,
  };
}

/** The limits of an agent that waits for its sources for as long as they take. */
function unlimited(awaitedSources: AwaitedSources): StartLimits {
  return new StartLimits({ awaitedSources, startWaitMs: 0, readyAfterMs: 0, clock: systemClock });
}

interface Checked {
  readonly readiness: AgentReadiness;
  readonly answered: (sourceIndex: number) => void;
}

/** One that listens. */
function readinessOf(...sources: SourceStatus[]): Checked {
  return readinessWith([], ...sources);
}

/** By source. */
const rejected: Readonly<Record<number, readonly InvalidFlag[]>> = {
  7: [{ key: "dark\nmode", reason: "it has\nno state" }],
  8: ["b", "c"].map((key) => ({ key, reason: "it has no state" })),
};

function readinessWith(stale: readonly number[], ...sources: SourceStatus[]): Checked {
  const awaitedSources = new AwaitedSources(sources);
  const readiness = new AgentReadiness({
    start: unlimited(awaitedSources),
    sources: () =>
      sources.map((status) => ({
        status,
        servesFlags: sources[status.sourceIndex]?.lastUpdate !== undefined,
        isStale: stale.includes(status.sourceIndex),
        name: status.sourceIndex === 9 ? { digest: "abc", resourceVersion: "17" } : undefined,
        rejected: rejected[status.sourceIndex] ?? [],
      })),
    clock: systemClock,
  });
  readiness.listening();
  return { readiness, answered: (sourceIndex) => void awaitedSources.answered(sourceIndex) };
}

describe("AgentReadiness", () => {
  it("says which sources are stale", () => {
    const away = status({ state: "disconnected", error: "refused" });
    const { readiness, answered } = readinessWith(
      [0],
      away,
      status({ sourceIndex: 1, uri: "file", selector: "" }),
    );
    answered(0);
    answered(1);
    const { isReady, reason } = readiness.check();
    expect(isReady).to.equal(true);
    expect(reason.split("\n")).to.deep.equal([
      "ready, but flags are stale",
      "source 0 proxy:8015 (demo/flags): disconnected for 0 s, newest flags 0 s old, answered as STALE: unreachable: refused",
      "source 1 file: connected for 0 s, newest flags 0 s old",
    ]);
  });

  it("is not ready until every source has answered, even while its stream is open (flagd is ready then, without flags)", () => {
    const { readiness, answered } = readinessOf(status({}), status({ sourceIndex: 1, uri: "file" }));
    expect(readiness.check().isReady).to.equal(false);
    answered(0);
    expect(readiness.check()).to.have.property("reason").that.contains("waiting for the first flags of file");
    answered(1);
    expect(readiness.check().isReady).to.equal(true);
  });

  it("is not ready until applications can connect", () => {
    const readiness = new AgentReadiness({
      start: unlimited(new AwaitedSources([])),
      sources: () => [],
      clock: systemClock,
    });
    expect(readiness.check()).to.deep.equal({
      isReady: false,
      reason: "the ports for applications are not open yet",
    });
    readiness.listening();
    expect(readiness.check().isReady).to.equal(true);
  });

  it("is ready without flags when the time for that has come, says so, and describes its sources as ever once they answer", async () => {
    const clock = new ManualClock();
    const away = status({ state: "disconnected", error: "refused", lastUpdate: undefined });
    const awaitedSources = new AwaitedSources([away]);
    const start = new StartLimits({ awaitedSources, startWaitMs: 0, readyAfterMs: 30_000, clock });
    const readiness = new AgentReadiness({
      start,
      sources: () => [{ status: away, servesFlags: false, isStale: false, name: undefined, rejected: [] }],
      clock,
    });
    await start.component(() => undefined).start(() => undefined, new AbortController().signal);
    readiness.listening();
    clock.advance(29_999);
    expect(readiness.check()).to.have.property("isReady", false);
    clock.advance(1);
    expect(readiness.check().isReady).to.equal(true);
    expect(readiness.check().reason).to.match(
      /^ready, but without the first flags of proxy:8015, which did not come within 30 s of the start\nsource 0 .* no flags yet: unreachable: refused$/,
    );
    awaitedSources.answered(0);
    expect(readiness.check().reason).to.match(/^ready, but flags may be stale\n/);
  });

  it("stays ready when a source is lost, and says in the body which one and why", () => {
    const { readiness, answered } = readinessOf(
      status({ state: "disconnected", error: "connection refused.", advice: "check the address" }),
    );
    answered(0);
    const { isReady, reason } = readiness.check();
    expect(isReady).to.equal(true);
    expect(reason).to.match(
      /^ready, but flags may be stale\nsource 0 proxy:8015 \(demo\/flags\): disconnected for 0 s/,
    );
    expect(reason).to.match(/: unreachable: connection refused; check the address$/);
  });

  it("says both of a source that is lost: why, and that its newest document before was refused", () => {
    const { readiness } = readinessOf(
      status({ state: "disconnected", error: "503", warning: "its newest document is refused: {" }),
    );
    const { reason } = readiness.check();
    expect(reason).to.match(/: unreachable: 503; its newest document is refused: \{$/);
  });

  it("says that flags may be stale because the proxy that is connected can't follow them, and why", () => {
    const proxyLost = "the proxy is refused where the flags come from: 403";
    const { readiness, answered } = readinessOf(status({ cause: "refused", proxyLost }));
    expect(readiness.check().reason).to.match(/^waiting for .*\n.*: the proxy is refused .*: 403$/);
    answered(0);
    expect(readiness.check()).to.have.property("isReady", true);
    expect(readiness.check().reason).to.match(
      /^ready, but flags may be stale\n.*: the proxy is refused .*: 403$/,
    );
  });

  it("names the protocol of a source, and what the source reports instead of flags", () => {
    const { readiness, answered } = readinessOf(
      status({
        protocol: "bunting.sync.v1",
        lastUpdate: undefined,
        warning: "there is no FeatureFlag demo/flags",
      }),
    );
    answered(0);
    expect(readiness.check().isReady).to.equal(true);
    expect(readiness.check().reason).to.match(
      /^ready, but without flags of demo\/flags\n.*connected for 0 s \(bunting\.sync\.v1\), no flags yet: there is no FeatureFlag demo\/flags$/,
    );
  });

  it("says which sources without a document serve their previous flags, such as a deleted FeatureFlag by policy", () => {
    const warning = "the FeatureFlag was deleted; its flags are still served";
    const { readiness, answered } = readinessOf(
      status({ warning }),
      status({ sourceIndex: 1, selector: "demo/none", lastUpdate: undefined, warning: "there is none" }),
    );
    for (const sourceIndex of [0, 1]) answered(sourceIndex);
    expect(readiness.check().reason).to.match(
      /^ready, but without flags of demo\/none and with the previous flags of demo\/flags\n/,
    );
    const kept = readinessOf(status({ warning }));
    kept.answered(0);
    expect(kept.readiness.check().reason).to.match(/^ready, but with the previous flags of demo\/flags\n/);
  });

  it("names the document of a source by its version, and no secret in its URI", () => {
    const { readiness, answered } = readinessOf(
      status({ sourceIndex: 9, uri: "https://a:b@host/f.json?sig=c", selector: "" }),
    );
    answered(0);
    expect(readiness.check().reason).to.equal(
      "ready\nsource 9 https://host/f.json?…: connected for 0 s, newest flags 0 s old, resourceVersion 17, digest abc",
    );
  });

  it("says which flags of a source are rejected, and why the first of them is", () => {
    const { readiness, answered } = readinessOf(
      status({ sourceIndex: 7 }),
      status({ sourceIndex: 8, uri: "file", selector: "", warning: "its newest version is refused" }),
    );
    for (const index of [0, 1]) answered(index);
    expect(readiness.check().reason.split("\n")).to.deep.equal([
      "ready, but without flags of file and with rejected flags of demo/flags, file",
      'source 7 proxy:8015 (demo/flags): connected for 0 s, newest flags 0 s old; the flag "dark\\nmode" is rejected: it has no state',
      'source 8 file: connected for 0 s, newest flags 0 s old: its newest version is refused; the flag "b" and 1 more are rejected: it has no state',
    ]);
  });

  it("is no longer ready once it shuts down", () => {
    const { readiness, answered } = readinessOf(status({}));
    answered(0);
    readiness.stopping();
    expect(readiness.check()).to.deep.equal({ isReady: false, reason: "shutting down" });
  });
});
