import { expect } from "chai";
import { startSleep, systemClock, type Clock } from "./clock.js";

describe("systemClock", () => {
  const dayMs = 24 * 3_600_000;
  const { setTimeout, clearTimeout } = globalThis;
  let timers: { delayMs: number; callback: () => void }[];
  let calls: number;
  beforeEach(() => {
    timers = [];
    calls = 0;
    const set = (callback: () => void, delayMs: number): number => timers.push({ delayMs, callback });
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    globalThis.clearTimeout = () => (timers = []);
  });
  afterEach(() => Object.assign(globalThis, { setTimeout, clearTimeout }));

  /** Fires the timer that is set, and returns its delay. */
  function fire(): number {
    const [timer, ...more] = timers.splice(0);
    expect(more).to.have.length(0);
    timer?.callback();
    return timer?.delayMs ?? NaN;
  }

  it("calls back once after a delay that is too long for one timer of Node.js", () => {
    systemClock.after(100 * dayMs, () => calls++);
    let elapsedMs = 0;
    while (calls === 0) {
      const delayMs = fire();
      expect(delayMs).to.be.at.most(2 ** 31 - 1);
      elapsedMs += delayMs;
    }
    expect(elapsedMs).to.equal(100 * dayMs);
    expect(timers).to.have.length(0);
  });

  it("cancels a long delay in any of its parts", () => {
    const cancel = systemClock.after(100 * dayMs, () => calls++);
    fire();
    fire();
    expect(timers).to.have.length(1);
    cancel();
    expect(timers).to.have.length(0);
  });

  it("never calls back after Infinity, and refuses what is no number", () => {
    systemClock.after(Infinity, () => calls++);
    for (let i = 0; i < 100; i++) expect(fire()).to.equal(2 ** 31 - 1);
    expect(calls).to.equal(0);
    expect(() => systemClock.after(NaN, () => calls++)).to.throw(RangeError, "not a number");
  });
});

describe("startSleep", () => {
  let pending: (() => void) | undefined;
  const clock: Clock = {
    now: () => 0,
    monotonicMs: () => 0,
    after: (_delayMs, callback) => {
      pending = callback;
      return () => (pending = undefined);
    },
  };

  it("ends with the time, a wake or an abort, and leaves no timer behind", async () => {
    const abort = new AbortController();
    const ends = [() => pending?.(), (wake: () => void) => wake(), () => abort.abort()];
    for (const end of ends) {
      const { ended, wake } = startSleep(1_000, abort.signal, clock);
      expect(pending).to.not.equal(undefined);
      end(wake);
      await ended;
      expect(pending).to.equal(undefined);
    }
  });

  it("does not begin once the signal has aborted", async () => {
    const { ended, wake } = startSleep(1_000, AbortSignal.abort(), clock);
    expect(pending).to.equal(undefined);
    await ended;
    wake();
  });
});
