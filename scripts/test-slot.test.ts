import { expect } from "chai";
import { sliceOf, slotCount } from "../test/support/port-slice.js";
import { takeSlot } from "./test-slot.js";

describe("slots of test runs", () => {
  // Not those of the run that this test is part of.
  const lockPort = 17_700;

  it("are given to one run at a time, and again once it has ended", async () => {
    const first = await takeSlot(lockPort);
    const second = await takeSlot(lockPort);
    second?.release();
    expect(first?.slot).to.be.a("number");
    expect(second?.slot).to.be.a("number").that.does.not.equal(first?.slot);
    expect(sliceOf(first?.slot)).not.to.deep.equal(sliceOf(second?.slot));
    const third = await takeSlot(lockPort);
    first?.release();
    third?.release();
    expect(third?.slot).to.equal(second?.slot);
  });

  it("are none once all are taken", async () => {
    const slots = [];
    for (let slot = await takeSlot(lockPort); slot !== undefined; slot = await takeSlot(lockPort))
      slots.push(slot);
    for (const slot of slots) slot.release();
    expect(slots).to.have.lengthOf(slotCount);
  });
});
