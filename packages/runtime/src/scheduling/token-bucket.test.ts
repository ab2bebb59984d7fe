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
});
