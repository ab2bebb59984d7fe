import { getEventListeners } from "node:events";
import { aborted } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { AskedAgain } from "./asked-again.js";
import type { SourceStatus } from "./sync-source.js";

describe("AskedAgain", () => {
  it("begins its source anew at once, and again only after ten seconds, however often it is asked", async () => {
    const clock = new ManualClock();
    let begun = 0;
    const source = {
      name: "source-0",
      status: (): SourceStatus => expect.fail("not asked"),
      run: (signal: AbortSignal) => {
        begun++;
        return aborted(signal);
      },
    };
    const again = new AskedAgain(source, clock);
    again.askAgain();
    expect(clock.pendingTimers, "before it runs").to.equal(0);
    const abort = new AbortController();
    const ended = again.run(abort.signal);
    // Where node keeps the signals that AbortSignal.any has made of this one.
    const madeOf = (signal: AbortSignal): number => {
      const symbol = Object.getOwnPropertySymbols(signal).find((each) => /Dependant/i.test(String(each)));
      return symbol === undefined ? 0 : (Reflect.get(signal, symbol) as { size: number }).size;
    };
    for (const waitMs of [0, 10_000, 10_000]) {
      const before = begun;
      for (let i = 0; i < 3; i++) again.askAgain();
      if (waitMs > 0) clock.advance(waitMs - 1);
      await new Promise(setImmediate);
      expect(begun).to.equal(before);
      clock.advance(waitMs > 0 ? 1 : 0);
      await new Promise(setImmediate);
      expect(begun).to.equal(before + 1);
      expect(madeOf(abort.signal), "kept at the signal of the process").to.equal(0);
    }
    expect(getEventListeners(abort.signal, "abort")).to.have.length(1);
    again.askAgain();
    abort.abort();
    await ended;
    expect(clock.pendingTimers).to.equal(0);
  });
});
