import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { Deadlines } from "./deadlines.js";

function useDeadlines(delayMs = 1_000) {
  const clock = new ManualClock();
  const due: string[] = [];
  const deadlines = new Deadlines<string>(clock, delayMs, (item) => due.push(item));
  return { clock, due, deadlines };
}

describe("Deadlines", () => {
  it("calls back once for each item when it is due, in the order in which they were started", () => {
    const { clock, due, deadlines } = useDeadlines();
    deadlines.start("a");
    clock.advance(400);
    deadlines.start("b");
    deadlines.start("c");
    clock.advance(599);
    expect(due).to.deep.equal([]);
    clock.advance(1);
    expect(due).to.deep.equal(["a"]);
    clock.advance(400);
    expect(due).to.deep.equal(["a", "b", "c"]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("restarts an item, and forgets one that is cancelled", () => {
    const { clock, due, deadlines } = useDeadlines();
    deadlines.start("a");
    deadlines.start("b");
    clock.advance(900);
    deadlines.start("a");
    deadlines.cancel("b");
    clock.advance(999);
    expect(due).to.deep.equal([]);
    clock.advance(1);
    expect(due).to.deep.equal(["a"]);
  });

  it("has one timer for all, and none without items", () => {
    const { clock, deadlines } = useDeadlines();
    for (let i = 0; i < 1_000; i++) deadlines.start(String(i));
    expect(clock.pendingTimers).to.equal(1);
    for (let i = 0; i < 1_000; i++) deadlines.cancel(String(i));
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is in time for an item behind another that is restarted when it is due", () => {
    const clock = new ManualClock();
    const due: [string, number][] = [];
    const deadlines = new Deadlines<string>(clock, 1_000, (item) => {
      due.push([item, clock.monotonicMs()]);
      if (due.length === 1) deadlines.start(item);
    });
    const startedMs = clock.monotonicMs();
    deadlines.start("a");
    clock.advance(400);
    deadlines.start("b");
    clock.advance(2_000);
    expect(due).to.deep.equal([
      ["a", startedMs + 1_000],
      ["b", startedMs + 1_400],
      ["a", startedMs + 2_000],
    ]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("keeps one timer while due items are cancelled and restarted", () => {
    const clock = new ManualClock();
    const deadlines: Deadlines<string> = new Deadlines<string>(clock, 1_000, (item) => {
      deadlines.cancel(item);
      deadlines.start(item);
    });
    deadlines.start("a");
    clock.advance(10_000);
    expect(clock.pendingTimers).to.equal(1);
  });

  it("handles many that are due together in several turns, and forgets none", () => {
    const { clock, due, deadlines } = useDeadlines();
    for (let i = 0; i < 1_000; i++) deadlines.start(String(i));
    clock.advance(1_000);
    expect(due).to.have.length(1_000);
  });

  it("calls back once for each item, one delay after its last start", () => {
    const { clock, due, deadlines } = useDeadlines(100);
    deadlines.start("a");
    clock.advance(40);
    deadlines.start("b");
    clock.advance(59);
    expect(due).to.deep.equal([]);
    clock.advance(1);
    expect(due).to.deep.equal(["a"]);
    clock.advance(40);
    expect(due).to.deep.equal(["a", "b"]);
    clock.advance(1_000);
    expect(due).to.deep.equal(["a", "b"]);
  });

  it("restarts an item behind those that were started meanwhile", () => {
    const { clock, due, deadlines } = useDeadlines(100);
    deadlines.start("a");
    deadlines.start("b");
    clock.advance(60);
    deadlines.start("a");
    clock.advance(40);
    expect(due).to.deep.equal(["b"]);
    clock.advance(60);
    expect(due).to.deep.equal(["b", "a"]);
  });

  it("keeps one timer while all are restarted, and knows how many there are", () => {
    const { clock, deadlines } = useDeadlines(100);
    for (let i = 0; i < 1_000; i++) deadlines.start(String(i));
    expect(clock.pendingTimers).to.equal(1);
    clock.advance(50);
    for (let i = 0; i < 1_000; i++) deadlines.start(String(i));
    expect(clock.pendingTimers).to.equal(1);
    for (let i = 0; i < 1_000; i++) deadlines.cancel(String(i));
    expect(clock.pendingTimers).to.equal(0);
    expect(deadlines.size).to.equal(0);
  });

  it("lets the callback start and cancel items", () => {
    const clock = new ManualClock();
    const due: string[] = [];
    const deadlines: Deadlines<string> = new Deadlines<string>(clock, 100, (item) => {
      due.push(`${item}@${clock.monotonicMs()}`);
      if (item === "a") deadlines.start("a");
      else deadlines.cancel("c");
    });
    deadlines.start("a");
    deadlines.start("b");
    clock.advance(50);
    deadlines.start("c");
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
