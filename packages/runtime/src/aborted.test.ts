import { getEventListeners } from "node:events";
import { expect } from "chai";
import { aborted, unlessAborted, untilAny } from "./aborted.js";

describe("aborted", () => {
  it("resolves when the signal aborts, and leaves no listener", async () => {
    const abort = new AbortController();
    const events: string[] = [];
    const waiting = aborted(abort.signal).then(() => events.push("aborted"));
    await Promise.resolve();
    expect(events).to.deep.equal([]);
    abort.abort();
    await waiting;
    expect(events).to.deep.equal(["aborted"]);
    expect(getEventListeners(abort.signal, "abort")).to.deep.equal([]);
  });

  it("resolves at once if the signal has aborted", async () => {
    const signal = AbortSignal.abort();
    await aborted(signal);
    expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });
});

describe("unlessAborted", () => {
  const never = new Promise<number>(() => undefined);

  it("settles as the promise does, or at once when the signal aborts, and leaves no listener", async () => {
    const abort = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), abort.signal)).to.equal(1);
    const failed = await unlessAborted(Promise.reject(new Error("no")), abort.signal).catch(
      (error: unknown) => (error as Error).message,
    );
    expect(failed).to.equal("no");
    const waiting = unlessAborted(never, abort.signal);
    abort.abort();
    expect(await waiting).to.equal(undefined);
    expect(await unlessAborted(never, abort.signal)).to.equal(undefined);
    expect(getEventListeners(abort.signal, "abort")).to.deep.equal([]);
  });
});

describe("untilAny", () => {
  it("aborts with the first of its signals and that one's reason, and leaves nothing at any of them", async () => {
    const [process, round] = [new AbortController(), new AbortController()];
    const signals = [process.signal, round.signal];
    const running = untilAny(signals, async (first) => {
      await aborted(first);
      return first.reason as unknown;
    });
    round.abort("over");
    process.abort("stopped");
    expect(await running).to.equal("over");
    for (const signal of signals) expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });

  it("begins aborted if one of its signals is, and leaves nothing where what it runs fails", async () => {
    const { signal } = new AbortController();
    const failed = await untilAny([signal, AbortSignal.abort("before")], (first) =>
      Promise.reject(first.reason as Error),
    ).catch((error: unknown) => error);
    expect(failed).to.equal("before");
    expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });
});
