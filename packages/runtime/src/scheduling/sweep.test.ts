import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { Sweep } from "./sweep.js";

describe("Sweep", () => {
  it("looks again and again with one timer, however often it is started, until it is stopped", () => {
    const clock = new ManualClock();
    let looks = 0;
    const sweep = new Sweep(clock, 100, () => looks++);
    sweep.start();
    sweep.start();
    expect(clock.pendingTimers).to.equal(1);
    clock.advance(350);
    expect(looks).to.equal(3);
    sweep.stop();
    sweep.stop();
    expect(clock.pendingTimers).to.equal(0);
  });

  it("may be stopped by its own look", () => {
    const clock = new ManualClock();
    let looks = 0;
    const sweep = new Sweep(clock, 100, () => {
      looks++;
      sweep.stop();
    });
    sweep.start();
    clock.advance(1_000);
    expect([looks, clock.pendingTimers]).to.deep.equal([1, 0]);
  });

  it("takes no timer where it never is to sweep", () => {
    const clock = new ManualClock();
    const sweep = new Sweep(clock, Infinity, () => undefined);
    sweep.start();
    expect(clock.pendingTimers).to.equal(0);
  });
});
