import { expect } from "chai";
import { bucketOf, buckets, instanceOf } from "./trial-bucket.js";

const names = Array.from({ length: 20_000 }, (_, index) => `checkout-${index}`);
const bucketsAt = (topic: "demo/flags" | "demo/other"): number[] =>
  names.map((name) => bucketOf(topic, instanceOf(name) ?? -1));

describe("the bucket of an agent", () => {
  it("never changes, because other releases must have it in the same", () => {
    expect(
      ["a", "checkout-0", "Ünï"].map((name) => bucketOf("demo/flags", instanceOf(name) ?? -1)),
    ).to.deep.equal([1204, 3232, 6801]);
  });

  it("is one of ten thousand, and each share of them has as large a share of the agents", () => {
    const all = bucketsAt("demo/flags");
    expect(Math.min(...all)).to.be.at.least(0);
    expect(Math.max(...all)).to.be.below(buckets);
    for (const percent of [1, 10, 50]) {
      const share = all.filter((bucket) => bucket < (percent / 100) * buckets).length / names.length;
      expect(share * 100).to.be.closeTo(percent, percent / 4);
    }
  });

  it("differs from topic to topic", () => {
    const [one, other] = [bucketsAt("demo/flags"), bucketsAt("demo/other")];
    const first = one.flatMap((bucket, index) => (bucket < 1_000 ? [index] : []));
    const both = first.filter((index) => (other[index] ?? 0) < 1_000);
    expect(both.length / first.length).to.be.closeTo(0.1, 0.05);
  });

  it("is that of a name: who has none has none", () => {
    expect([instanceOf(undefined), instanceOf("")]).to.deep.equal([undefined, undefined]);
  });
});
