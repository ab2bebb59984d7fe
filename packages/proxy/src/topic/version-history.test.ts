import { expect } from "chai";
import { VersionHistory, type VersionedSnapshot } from "./version-history.js";

describe("VersionHistory", () => {
  function version(sequence: number): VersionedSnapshot {
    return {
      sequence,
      digest: `digest ${sequence}`,
      publishedMs: sequence * 1_000,
      version: { noticedMs: 0, generation: sequence, resourceVersion: `${sequence * 10}` },
    };
  }

  it("says when the first version was published that a subscriber does not have", () => {
    const history = new VersionHistory();
    for (const sequence of [1, 2, 3]) history.add(version(sequence));
    expect(history.publishedAfterMs(0)).to.equal(1_000);
    expect(history.publishedAfterMs(2)).to.equal(3_000);
    expect(history.publishedAfterMs(3)).to.equal(undefined);
    expect(history.withDigest("digest 2")).to.include({ generation: 2, resourceVersion: "20" });
    expect(history.withSequence(3)?.digest).to.equal("digest 3");
  });

  it("keeps the oldest, and few of those in between, while a subscriber misses a thousand versions", () => {
    const history = new VersionHistory();
    for (let sequence = 1; sequence <= 1_000; sequence++) history.add(version(sequence));
    expect(history.publishedAfterMs(0)).to.equal(1_000);
    expect(history.publishedAfterMs(999)).to.equal(1_000_000);
    const kept = Array.from({ length: 1_000 }, (_, at) => history.withSequence(at + 1)).filter(Boolean);
    expect(kept.length).to.be.within(8, 16);
  });

  it("forgets what nobody is at any more, but keeps what agents still hold because they refused the rest", () => {
    const history = new VersionHistory();
    const held = new Map([["digest 1", 1]]);
    for (let sequence = 1; sequence <= 10; sequence++) history.add(version(sequence), held);
    expect(history.withDigest("digest 1")).not.to.equal(undefined);
    expect(history.withDigest("digest 8")).to.equal(undefined);
    expect(history.withDigest("digest 9")).not.to.equal(undefined);
  });
});
