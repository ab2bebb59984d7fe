import { getEventListeners } from "node:events";
import { expect } from "chai";
import { aborted } from "./aborted.js";

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
