import { getEventListeners } from "node:events";
import { aborted } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { OnDemandSource } from "./on-demand-source.js";
import { grpcConfig, SourceProbe } from "./sync.fixture.js";

describe("OnDemandSource", () => {
  it("begins anew at once when it is asked again, and again only after ten seconds, however often it is asked", async () => {
    const clock = new ManualClock();
    let begun = 0;
    const { options } = new SourceProbe(clock);
    const source = new OnDemandSource(grpcConfig(""), options, (_parts, signal) => {
      begun++;
      return aborted(signal);
    });
    source.askAgain();
    expect(clock.pendingTimers, "before it runs").to.equal(0);
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    // Where node keeps the signals that AbortSignal.any has made of this one.
    const madeOf = (signal: AbortSignal): number => {
      const symbol = Object.getOwnPropertySymbols(signal).find((each) => /Dependant/i.test(String(each)));
      return symbol === undefined ? 0 : (Reflect.get(signal, symbol) as { size: number }).size;
    };
    for (const waitMs of [0, 10_000, 10_000]) {
      const before = begun;
      for (let i = 0; i < 3; i++) source.askAgain();
      if (waitMs > 0) clock.advance(waitMs - 1);
      await new Promise(setImmediate);
      expect(begun).to.equal(before);
      clock.advance(waitMs > 0 ? 1 : 0);
      await new Promise(setImmediate);
      expect(begun).to.equal(before + 1);
      expect(madeOf(abort.signal), "kept at the signal of the process").to.equal(0);
    }
    expect(getEventListeners(abort.signal, "abort")).to.have.length(1);
    source.askAgain();
    abort.abort();
    await ended;
    expect(clock.pendingTimers).to.equal(0);
  });

  it("begins anew at once also while it waits after a failure, and does not wait for one that fails as it ends", async () => {
    const clock = new ManualClock();
    const { options } = new SourceProbe(clock);
    let begun = 0;
    const source = new OnDemandSource(grpcConfig(""), options, async (_parts, signal) => {
      if (++begun > 1) await aborted(signal);
      throw new TypeError("no function");
    });
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    for (const times of [1, 2, 3]) {
      await new Promise(setImmediate);
      expect(begun).to.equal(times);
      source.restart();
    }
    abort.abort();
    await ended;
  });

  it("loads its code again, and does not call it a bug that there was no descriptor for it", async () => {
    const clock = new ManualClock();
    const probe = new SourceProbe(clock);
    const abort = new AbortController();
    const errors = [
      Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" }),
      new TypeError("no function"),
    ];
    const seen: (string | undefined)[] = [];
    const source = new OnDemandSource(grpcConfig("127.0.0.1:1"), probe.options, async () => {
      seen.push(source.status().error);
      const error = errors.shift();
      if (error !== undefined) throw error;
      abort.abort();
      return Promise.resolve();
    });
    const ended = source.run(abort.signal);
    while (!abort.signal.aborted) {
      await new Promise(setImmediate);
      clock.advance(60_000);
    }
    await ended;
    expect(seen).to.deep.equal([
      undefined,
      "the source stopped: EMFILE: too many open files",
      "the source stopped because of a bug in Bunting: TypeError: no function",
    ]);
  });
});
