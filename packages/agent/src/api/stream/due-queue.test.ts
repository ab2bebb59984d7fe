import { expect } from "chai";
import { ManualClock } from "../../../../../test/support/manual-clock.js";
import { DueQueue } from "./due-queue.js";

describe("DueQueue", () => {
  const clocked = (): { clock: ManualClock; due: string[]; queue: DueQueue<string> } => {
    const clock = new ManualClock();
    const due: string[] = [];
    return { clock, due, queue: new DueQueue(clock, 100, (item) => due.push(item)) };
  };

  it("reports each item once, its time after it was last touched", () => {
    const { clock, due, queue } = clocked();
    queue.touch("a");
    clock.advance(40);
    queue.touch("b");
    clock.advance(59);
    expect(due).to.deep.equal([]);
    clock.advance(1);
    expect(due).to.deep.equal(["a"]);
    clock.advance(40);
    expect(due).to.deep.equal(["a", "b"]);
    clock.advance(1_000);
    expect(due).to.deep.equal(["a", "b"]);
  });

  it("begins an item's time anew when it is touched again", () => {
    const { clock, due, queue } = clocked();
    queue.touch("a");
    queue.touch("b");
    clock.advance(60);
    queue.touch("a");
    clock.advance(40);
    expect(due).to.deep.equal(["b"]);
    clock.advance(60);
    expect(due).to.deep.equal(["b", "a"]);
  });

  it("has one timer for any number of items, and none without", () => {
    const { clock, queue } = clocked();
    for (let i = 0; i < 1_000; i++) queue.touch(String(i));
    expect(clock.pendingTimers).to.equal(1);
    clock.advance(50);
    for (let i = 0; i < 1_000; i++) queue.touch(String(i));
    expect(clock.pendingTimers).to.equal(1);
    for (let i = 0; i < 1_000; i++) queue.delete(String(i));
    expect(clock.pendingTimers).to.equal(0);
    expect(queue.size).to.equal(0);
  });

  it("lets what it calls touch and delete items", () => {
    const clock = new ManualClock();
    const due: string[] = [];
    const queue = new DueQueue<string>(clock, 100, (item) => {
      due.push(`${item}@${clock.monotonicMs()}`);
      if (item === "a") queue.touch("a");
      else queue.delete("c");
    });
    queue.touch("a");
    queue.touch("b");
    clock.advance(50);
    queue.touch("c");
    clock.advance(250);
    const start = 1_000;
    expect(due).to.deep.equal([
      `a@${start + 100}`,
      `b@${start + 100}`,
      `a@${start + 200}`,
      `a@${start + 300}`,
    ]);
    expect(clock.pendingTimers).to.equal(1);
  });
});
