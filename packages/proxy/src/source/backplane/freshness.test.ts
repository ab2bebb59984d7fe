import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { Freshness } from "./freshness.js";

const answerMs = 7_000;
const freshMs = 45_000;

function useFreshness() {
  const clock = new ManualClock();
  clock.advance(1_000_000);
  return {
    clock,
    freshness: new Freshness({
      context: { clock, metrics: { backplaneRecordRefused: () => undefined } },
      times: { answerMs, freshMs },
    }),
  };
}

describe("Freshness", () => {
  it("gives an owner time to answer, without taking that for a confirmation", () => {
    const { clock, freshness } = useFreshness();
    expect(freshness.isFresh).to.be.false;
    freshness.asked();
    clock.advance(answerMs - 1);
    expect(freshness.isFresh).to.be.true;
    expect(freshness.isConfirmed).to.be.false;
    clock.advance(1);
    expect(freshness.isFresh).to.be.false;
  });

  it("counts what an owner confirmed after it was asked for long", () => {
    const { clock, freshness } = useFreshness();
    freshness.asked();
    clock.advance(100);
    expect(freshness.confirmed(100)).to.be.true;
    expect(freshness.isConfirmed).to.be.true;
    clock.advance(freshMs - 101);
    expect(freshness.isConfirmed).to.be.true;
    clock.advance(1);
    expect(freshness.isConfirmed).to.be.false;
    expect(freshness.confirmed(freshMs)).to.be.false;
  });

  it("does not count what was confirmed before an owner was asked, whatever whole ms Redis makes of it", () => {
    const { clock, freshness } = useFreshness();
    freshness.asked();
    clock.advance(10);
    expect(freshness.counts(12)).to.be.false;
    expect(freshness.confirmed(12)).to.be.false;
    expect(freshness.isConfirmed).to.be.false;
    expect(freshness.confirmed(11)).to.be.true;
    expect(freshness.isConfirmed).to.be.true;
  });

  it("counts nothing from before the time when it was distrusted", () => {
    const { clock, freshness } = useFreshness();
    freshness.asked();
    clock.advance(10);
    freshness.invalidateConfirmation();
    expect(freshness.isFresh).to.be.false;
    clock.advance(10);
    expect(freshness.confirmed(11)).to.be.false;
    expect(freshness.confirmed(10)).to.be.true;
  });

  it("counts a confirmation again that is read after a doubt", () => {
    const { freshness } = useFreshness();
    freshness.asked();
    freshness.confirmed(0);
    freshness.expire();
    expect(freshness.isConfirmed).to.be.false;
    expect(freshness.confirmed(0)).to.be.true;
    expect(freshness.isConfirmed).to.be.true;
  });
});
