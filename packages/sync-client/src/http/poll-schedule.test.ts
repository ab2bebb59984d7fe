import { expect } from "chai";
import { nextPollMs } from "./poll-schedule.js";

const at = (time: string): number => new Date(`2026-03-04T${time}`).getTime();

describe("nextPollMs", () => {
  it("is one interval if there is no seed", () => {
    expect(nextPollMs(at("10:00:01.250"), 5_000, "")).to.equal(5_000);
  });

  it("is at fixed times with a seed, whenever it is asked", () => {
    const intervalMs = 30_000;
    const due = (now: number): number => now + nextPollMs(now, intervalMs, "pod-a");
    const first = due(at("10:00:00.000"));
    expect(first - at("10:00:00.000")).to.be.within(1, intervalMs);
    expect(due(first - 1)).to.equal(first);
    expect(due(first)).to.equal(first + intervalMs);
    expect(due(first + 12_345)).to.equal(first + intervalMs);
  });

  it("spreads seeds over the interval, as flagd does: by the FNV-1a hash modulo the interval in seconds", () => {
    const midnight = at("00:00:00.000");
    // 0xbf9cf968 is the published FNV-1a hash of "foobar".
    expect(nextPollMs(midnight, 60_000, "foobar")).to.equal((0xbf9cf968 % 60) * 1_000);
    const offsets = new Set(Array.from({ length: 60 }, (_, i) => nextPollMs(midnight, 60_000, `pod-${i}`)));
    expect(offsets.size).to.be.greaterThan(25);
  });
});
