import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { within } from "./within.js";

const never = new Promise<never>(() => undefined);

describe("within", () => {
  it("waits no longer than it may, and leaves no timer", async () => {
    const clock = new ManualClock();
    const events: string[] = [];
    const waiting = within(1_000, never, clock).then((isInTime) => events.push(`in time: ${isInTime}`));
    clock.advance(999);
    await Promise.resolve();
    expect(events).to.deep.equal([]);
    clock.advance(1);
    await waiting;
    expect(events).to.deep.equal(["in time: false"]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("ends with what it waits for, and leaves no timer", async () => {
    const clock = new ManualClock();
    expect(await within(1_000, Promise.resolve("an answer"), clock)).to.equal(true);
    const error = await within(1_000, Promise.reject(new Error("failed")), clock).catch((e: unknown) => e);
    expect(error).to.have.property("message", "failed");
    expect(clock.pendingTimers).to.equal(0);
  });
});
