import { BackplaneError } from "@bunting/backplane";
import { expect } from "chai";
import { countTopics, lateReasonOf } from "./backplane-report.js";

describe("lateReasonOf", () => {
  it("says how late edits come while announcements can't be read, in one line, and nothing while they can", () => {
    const failure = new BackplaneError("REDIS_TIMEOUT", "Redis did not answer\nwithin 5 s");
    const { reason = "" } = lateReasonOf(failure, 15_000);
    expect(reason).to.contain("edits of others come up to 15 s late: Redis did not answer");
    expect(reason).not.to.contain("\n");
    expect(lateReasonOf(undefined, 15_000)).to.deep.equal({});
  });
});

describe("countTopics", () => {
  const followed = { hasSubscribers: true, isDirect: false, isWatched: false, isRemote: false };
  const topics = [
    followed,
    { ...followed, isDirect: true, isWatched: true },
    { ...followed, hasSubscribers: false, isWatched: true },
    { ...followed, isRemote: true },
  ];

  it("follows what another replica watches, also where this one watches it as well", () => {
    const counts = countTopics(topics, { usesRedis: true, isOwner: false });
    expect(counts).to.deep.equal({ followed: 2, direct: 1, forOthers: 1 });
  });

  it("follows nothing as the owner", () => {
    expect(countTopics(topics, { usesRedis: true, isOwner: true }).followed).to.equal(0);
  });

  it("follows nothing while Redis can't be used: all that has subscribers is watched here", () => {
    const counts = countTopics(topics, { usesRedis: false, isOwner: false });
    expect(counts).to.deep.equal({ followed: 0, direct: 2, forOthers: 1 });
  });
});
