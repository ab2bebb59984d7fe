import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { AwaitedSources } from "../sync/awaited-sources.js";
import { StartLimits } from "./start-limits.js";

const signal = new AbortController().signal;

function limitsOf(startWaitMs: number, readyAfterMs: number) {
  const clock = new ManualClock();
  const awaitedSources = new AwaitedSources([{ uri: "a" }, { uri: "https://u:p@b/?c" }]);
  const limits = new StartLimits({ awaitedSources, startWaitMs, readyAfterMs, clock });
  let times = 0;
  const component = limits.component(() => times++);
  return { clock, awaitedSources, limits, component, timesReady: () => times };
}

describe("StartLimits", () => {
  it("do not hold /healthz back, and are never ready without answers, unless that is asked for", async () => {
    const { clock, limits, component, timesReady } = limitsOf(0, 0);
    expect(limits.notStarted()).to.equal(undefined);
    await component.start(() => undefined, signal);
    clock.advance(10_000_000);
    expect([limits.notStarted(), limits.readyWithout(), timesReady()]).to.deep.equal([
      undefined,
      undefined,
      0,
    ]);
  });

  it("hold /healthz back until every source has answered, and say which have not", async () => {
    const { awaitedSources, limits, component } = limitsOf(5_000, 0);
    await component.start(() => undefined, signal);
    expect(limits.notStarted()).to.equal(
      "starting: waiting for the first flags of a, https://b/?…, for 5 s at most",
    );
    awaitedSources.answered(0);
    expect(limits.notStarted()).to.contain("first flags of https://b/?…,");
    awaitedSources.answered(1);
    expect(limits.notStarted()).to.equal(undefined);
  });

  it("hold it back no longer than they may, measured from their start", async () => {
    const { clock, limits, component } = limitsOf(5_000, 0);
    clock.advance(60_000);
    await component.start(() => undefined, signal);
    clock.advance(4_999);
    expect(limits.notStarted()).to.be.a("string");
    clock.advance(1);
    expect(limits.notStarted()).to.equal(undefined);
  });

  it("tell when the agent is ready without answers, and why", async () => {
    const { clock, awaitedSources, limits, component, timesReady } = limitsOf(0, 500);
    await component.start(() => undefined, signal);
    clock.advance(499);
    expect([limits.readyWithout(), timesReady()]).to.deep.equal([undefined, 0]);
    clock.advance(1);
    expect(timesReady()).to.equal(1);
    expect(limits.readyWithout()).to.equal(
      "ready, but without the first flags of a, https://b/?…, which did not come within 0.5 s of the start",
    );
    awaitedSources.answered(0);
    awaitedSources.answered(1);
    expect(limits.readyWithout()).to.equal(undefined);
  });

  it("tell nothing when all sources have answered in time, and leave no timer", async () => {
    const { clock, awaitedSources, component, timesReady } = limitsOf(0, 500);
    await component.start(() => undefined, signal);
    awaitedSources.answered(0);
    awaitedSources.answered(1);
    clock.advance(500);
    expect(timesReady()).to.equal(0);
    const stopped = limitsOf(0, 500);
    await stopped.component.start(() => undefined, signal);
    await stopped.component.stop();
    expect(stopped.clock.pendingTimers).to.equal(0);
  });
});
