import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { DegradedMode, type DegradedState } from "./degraded-mode.js";

function start(random = 0) {
  const clock = new ManualClock();
  const states: DegradedState[] = [];
  const mode = new DegradedMode({
    clock,
    random: () => random,
    stableMs: 10_000,
    onChange: (state) => states.push(state),
  });
  return { clock, mode, states };
}

describe("DegradedMode", () => {
  it("watches for itself when Redis has been away for two seconds", () => {
    const { clock, mode, states } = start();
    mode.down();
    clock.advance(1_999);
    expect(states).to.be.empty;
    clock.advance(1);
    expect(states).to.deep.equal(["degraded"]);
  });

  it("spreads the replicas over another second", () => {
    const changes = [0, 0.25, 0.5, 0.999].map((random) => {
      const { clock, mode, states } = start(random);
      mode.down();
      let ms = 0;
      for (; states.length === 0; ms++) clock.advance(1);
      return ms;
    });
    expect(changes).to.deep.equal([2_000, 2_250, 2_500, 2_999]);
  });

  it("does not mind a short outage", () => {
    const { clock, mode, states } = start();
    for (let time = 0; time < 5; time++) {
      mode.down();
      clock.advance(1_500);
      mode.up();
      clock.advance(60_000);
    }
    expect(states).to.be.empty;
    expect(clock.pendingTimers).to.equal(0);
  });

  it("does not rely on a Redis that is away half of the time, however short each time", () => {
    const { clock, mode, states } = start();
    for (let time = 0; time < 5 && states.length === 0; time++) {
      mode.down();
      clock.advance(1_000);
      mode.up();
      clock.advance(1_000);
    }
    expect(states[0]).to.equal("degraded");
  });

  it("relies on Redis again once it has worked for ten seconds", () => {
    const { clock, mode, states } = start();
    mode.down();
    clock.advance(5_000);
    mode.up();
    expect(states).to.deep.equal(["degraded", "recovering"]);
    clock.advance(9_999);
    expect(mode.state).to.equal("recovering");
    clock.advance(1);
    expect(mode.state).to.equal("connected");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("spreads the return of the replicas over half of that time", () => {
    const { clock, mode } = start(0.999);
    mode.down();
    clock.advance(5_000);
    mode.up();
    clock.advance(14_900);
    expect(mode.state).to.equal("recovering");
    clock.advance(100);
    expect(mode.state).to.equal("connected");
  });

  it("watches for itself all the time while Redis comes and goes", () => {
    const { clock, mode, states } = start();
    mode.down();
    clock.advance(2_000);
    for (let time = 0; time < 20; time++) {
      mode.up();
      clock.advance(9_000);
      mode.down();
      clock.advance(1_000);
    }
    expect(states).not.to.include("connected");
    // The twentieth relapse does not make it wait for hours.
    mode.up();
    clock.advance(300_000);
    expect(mode.state).to.equal("connected");
  });

  it("waits twice as long after a relapse, and trusts again after a calm minute", () => {
    const { clock, mode } = start();
    const outage = (): number => {
      mode.down();
      clock.advance(3_000);
      mode.up();
      let ms = 0;
      for (; mode.state !== "connected"; ms += 1_000) clock.advance(1_000);
      return ms;
    };
    expect([outage(), outage(), outage()]).to.deep.equal([10_000, 20_000, 40_000]);
    clock.advance(60_000);
    expect(outage()).to.equal(10_000);
  });

  it("takes the same news twice for nothing new, and stops without a timer", () => {
    const { clock, mode, states } = start();
    mode.up();
    mode.down();
    clock.advance(1_500);
    mode.down();
    clock.advance(500);
    expect(states).to.deep.equal(["degraded"]);
    mode.up();
    mode.up();
    expect(clock.pendingTimers).to.equal(1);
    mode.stop();
    expect(clock.pendingTimers).to.equal(0);
  });
});
