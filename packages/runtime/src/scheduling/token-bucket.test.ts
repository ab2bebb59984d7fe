import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TokenBucket } from "./token-bucket.js";

describe("TokenBucket", () => {
  it("has a burst of tokens, then one for each part of a second, and no more than the burst", () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, { burst: 2, perSecond: 4 });
    bucket.take();
    bucket.giveBack();
    bucket.giveBack();
    for (let round = 0; round < 2; round++) {
      expect(bucket.waitMs).to.equal(0);
      bucket.take();
      expect(bucket.waitMs).to.equal(0);
      bucket.take();
      expect(bucket.waitMs).to.equal(250);
      clock.advance(200);
      expect(bucket.waitMs).to.equal(50);
      clock.advance(60_000);
    }
  });

  it("gives the next token to each who waits for one, and none when it is over", async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, { burst: 1, perSecond: 4 });
    const abort = new AbortController();
    await bucket.takeNext(abort.signal);
    const waiting = bucket.takeNext(abort.signal);
    clock.advance(250);
    await waiting;
    expect(bucket.waitMs).to.equal(250);
    const last = bucket.takeNext(abort.signal).catch((error: unknown) => error);
    abort.abort(new Error("over"));
    expect(await last).to.have.property("message", "over");
    expect([bucket.waitMs, clock.pendingTimers]).to.deep.equal([250, 0]);
  });
});
