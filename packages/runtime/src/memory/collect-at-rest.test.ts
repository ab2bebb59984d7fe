import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect } from "chai";
import { atRest } from "./collect-at-rest.js";

describe("atRest", () => {
  let busyMs: number;
  let takesMs: number;
  let collections: number;
  let look: () => void;

  beforeEach(() => {
    busyMs = 0;
    takesMs = 10;
    collections = 0;
    look = atRest(
      () => busyMs,
      () => {
        collections++;
        busyMs += takesMs;
      },
    );
  });

  /** How many collections there were after intervals in which the process worked that long. */
  function after(...intervals: number[]): number {
    for (const ms of intervals) {
      busyMs += ms;
      look();
    }
    return collections;
  }

  it("collects once the work is over, and not again while the process rests", () => {
    expect(after(201, 4_000, 4_000)).to.equal(0);
    expect(after(200)).to.equal(1);
    expect(after(1, 1, 1)).to.equal(1);
    expect(after(4_000)).to.equal(1);
    expect(after(0)).to.equal(2);
  });

  it("collects nothing of a process that has done hardly anything", () => {
    expect(after(200, 200, 99)).to.equal(0);
    expect(after(1)).to.equal(1);
    expect(after(200, 200, 99)).to.equal(1);
    expect(after(1)).to.equal(2);
  });

  it("spends a twentieth of the processor time at most, however long a collection takes", () => {
    takesMs = 100;
    expect(after(4_000, 0)).to.equal(1);
    expect(after(1_800, 99)).to.equal(1);
    expect(after(1)).to.equal(2);
  });
});

describe("collectAtRest", () => {
  it("has V8 give back what a process took that rests", () => {
    const module = path.join(import.meta.dirname, "collect-at-rest.ts");
    // Intervals of 100 ms, in which nothing runs while the process works: it has one thread for both.
    const script = `
      import { setTimeout as delay } from "node:timers/promises";
      import { collectAtRest } from ${JSON.stringify(module)};
      const { setInterval } = globalThis;
      globalThis.setInterval = (look) => setInterval(look, 100);
      collectAtRest();
      let kept = [];
      // In microseconds.
      while (process.cpuUsage().user < 600_000 || kept.length < 600_000) kept.push({ text: "text " + kept.length });
      kept = [];
      const before = process.memoryUsage.rss();
      const freed = () => before - process.memoryUsage.rss();
      for (let left = 100; left > 0 && freed() < 20_000_000; left--) await delay(50);
      console.log(freed());`;
    const args = ["--import=tsx", "--expose-gc", "--input-type=module", "-e", script];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(status, stderr).to.equal(0);
    expect(Number(stdout)).to.be.greaterThan(20_000_000);
  });
});
