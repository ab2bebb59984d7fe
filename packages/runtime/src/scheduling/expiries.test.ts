import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { Expiries } from "./expiries.js";

describe("Expiries", () => {
  let clock: ManualClock;
  let due: string[];
  let expiries: Expiries<string>;

  beforeEach(() => {
    clock = new ManualClock();
    due = [];
    expiries = new Expiries(clock, (item) => due.push(item));
  });

  it("calls back for each item in its second, whatever the order they came in, with one timer", () => {
    for (const seconds of [30, 10, 20]) expiries.add(`${seconds}`, clock.now() + seconds * 1_000);
    expiries.add("10 too", clock.now() + 10_000);
    expect(clock.pendingTimers).to.equal(1);
    clock.advance(9_000);
    expect(due).to.deep.equal([]);
    clock.advance(2_000);
    expect(due).to.deep.equal(["10", "10 too"]);
    clock.advance(60_000);
    expect(due).to.deep.equal(["10", "10 too", "20", "30"]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("does not call back for items that were removed, and needs no timer without any", () => {
    expiries.add("a", clock.now() + 5_000);
    expiries.delete("a", clock.now() + 5_000);
    expiries.delete("never added", clock.now());
    expect(clock.pendingTimers).to.equal(0);
    expiries.add("b", clock.now() + 5_000);
    clock.advance(10_000);
    expect(due).to.deep.equal(["b"]);
  });

  it("calls back for what is past already, and for what is added meanwhile", () => {
    expiries = new Expiries(clock, (item) => {
      due.push(item);
      if (due.length < 3) expiries.add("again", clock.now());
    });
    expiries.add("past", clock.now() - 1_000);
    clock.advance(1_000);
    expect(due).to.deep.equal(["past"]);
    clock.advance(2_000);
    expect(due).to.deep.equal(["past", "again", "again"]);
    expect(clock.pendingTimers).to.equal(0);
  });
});
