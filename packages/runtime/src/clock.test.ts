import { expect } from "chai";
import { startSleep, type Clock } from "./clock.js";

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
