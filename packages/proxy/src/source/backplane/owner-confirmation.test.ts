import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { OwnerConfirmation } from "./owner-confirmation.js";

const answerMs = 7_000;
const freshMs = 45_000;

function useConfirmation() {
  const clock = new ManualClock();
  clock.advance(1_000_000);
  return {
    clock,
    confirmation: new OwnerConfirmation({
      context: { clock, metrics: { backplaneRecordRefused: () => undefined } },
      times: { answerMs, freshMs },
    }),
  };
}

describe("OwnerConfirmation", () => {
  it("gives an owner time to answer, without taking that for a confirmation", () => {
    const { clock, confirmation } = useConfirmation();
    expect(confirmation.isFresh).to.be.false;
    confirmation.asked();
    clock.advance(answerMs - 1);
    expect(confirmation.isFresh).to.be.true;
    expect(confirmation.isConfirmed).to.be.false;
    clock.advance(1);
    expect(confirmation.isFresh).to.be.false;
  });

  it("counts what an owner confirmed after it was asked for long", () => {
    const { clock, confirmation } = useConfirmation();
    confirmation.asked();
    clock.advance(100);
    expect(confirmation.confirmed(100)).to.be.true;
    expect(confirmation.isConfirmed).to.be.true;
    clock.advance(freshMs - 101);
    expect(confirmation.isConfirmed).to.be.true;
    clock.advance(1);
    expect(confirmation.isConfirmed).to.be.false;
    expect(confirmation.confirmed(freshMs)).to.be.false;
  });

  it("does not count what was confirmed before an owner was asked, whatever whole ms Redis makes of it", () => {
    const { clock, confirmation } = useConfirmation();
    confirmation.asked();
    clock.advance(10);
    expect(confirmation.counts(12)).to.be.false;
    expect(confirmation.confirmed(12)).to.be.false;
    expect(confirmation.isConfirmed).to.be.false;
    expect(confirmation.confirmed(11)).to.be.true;
    expect(confirmation.isConfirmed).to.be.true;
  });

  it("counts nothing from before the time when it was distrusted", () => {
    const { clock, confirmation } = useConfirmation();
    confirmation.asked();
    clock.advance(10);
    confirmation.invalidateConfirmation();
    expect(confirmation.isFresh).to.be.false;
    clock.advance(10);
    expect(confirmation.confirmed(11)).to.be.false;
    expect(confirmation.confirmed(10)).to.be.true;
  });

  it("counts a confirmation again that is read after a doubt", () => {
    const { confirmation } = useConfirmation();
    confirmation.asked();
    confirmation.confirmed(0);
    confirmation.expire();
    expect(confirmation.isConfirmed).to.be.false;
    expect(confirmation.confirmed(0)).to.be.true;
    expect(confirmation.isConfirmed).to.be.true;
  });
});
