import { expect } from "chai";
import { Overdue } from "./overdue.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";

describe("Overdue", () => {
  let clock: ManualClock;
  let reported: string[];
  let overdue: Overdue<string>;

  beforeEach(() => {
    clock = new ManualClock();
    reported = [];
    overdue = new Overdue(clock, 1_000, (item) => reported.push(item));
    overdue.start();
  });

  it("reports an item between one and two timeouts after it was added, once", () => {
    clock.advance(900);
    overdue.add("late");
    clock.advance(1_000);
    expect(reported, "after one timeout").to.deep.equal([]);
    clock.advance(200);
    expect(reported).to.deep.equal(["late"]);
    clock.advance(5_000);
    expect(reported).to.deep.equal(["late"]);
  });

  it("reports no item that was deleted in time, at whatever age", () => {
    for (const ageMs of [0, 600, 999]) {
      overdue.add(`deleted after ${ageMs} ms`);
      clock.advance(ageMs);
      overdue.delete(`deleted after ${ageMs} ms`);
      clock.advance(5_000);
    }
    expect(reported).to.deep.equal([]);
  });

  it("counts a sweep once, however late it is", () => {
    overdue.add("unread because the event loop was blocked");
    clock.advance(1_000);
    overdue.delete("unread because the event loop was blocked");
    expect(reported).to.deep.equal([]);
  });

  it("reports thousands over several turns, and leaves out those that are deleted meanwhile", async () => {
    for (let index = 0; index < 1_000; index++) overdue.add(`item ${index}`);
    clock.advance(2_000);
    expect(reported.length).to.be.within(1, 999);
    overdue.delete("item 999");
    await eventually(() => reported.length === 999, "all are reported");
  });

  it("has no timer after it was stopped", () => {
    overdue.add("left");
    overdue.stop();
    clock.advance(10_000);
    expect(reported).to.deep.equal([]);
  });
});
