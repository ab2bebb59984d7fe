import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { withTimeLimit } from "./time-limit.js";

describe("withTimeLimit", () => {
  const until = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

  it("gives the result of what ends in time, and leaves no timer and no listener", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    let limit: AbortSignal | undefined;
    const result = withTimeLimit(
      stop.signal,
      100,
      (signal) => {
        limit = signal;
        return Promise.resolve("done");
      },
      { clock },
    );
    expect(await result).to.equal("done");
    expect(clock.pendingTimers).to.equal(0);
    stop.abort();
    expect(limit?.aborted).to.equal(false);
  });

  it("aborts what takes longer, and rejects with the error for that", async () => {
    const clock = new ManualClock();
    const late = (cause: unknown): Error => new Error("late", { cause });
    const running = withTimeLimit(new AbortController().signal, 100, until, { clock, late });
    clock.advance(100);
    const error = await running.catch((reason: unknown) => reason);
    expect(error).to.be.an("error").with.property("message", "late");
    expect(error).to.have.property("cause").that.has.property("name", "AbortError");
  });

  it("aborts with the reason of the signal, which is no matter of time", async () => {
    const stop = new AbortController();
    const late = (): Error => new Error("late");
    const running = withTimeLimit(stop.signal, 100, until, { clock: new ManualClock(), late });
    stop.abort(new Error("stopped"));
    expect(await running.catch(String)).to.equal("Error: stopped");
  });

  it("begins aborted if the signal is", async () => {
    const limit = await withTimeLimit(AbortSignal.abort(), 100, (signal) => Promise.resolve(signal), {
      clock: new ManualClock(),
    });
    expect(limit.aborted).to.equal(true);
  });
});
