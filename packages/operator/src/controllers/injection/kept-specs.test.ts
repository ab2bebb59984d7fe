import { expect } from "chai";
import { KeptSpecs } from "./kept-specs.js";

const spec = (kilobytes: number): object => ({ text: "x".repeat(kilobytes * 1_000) });

describe("KeptSpecs", () => {
  let kept: KeptSpecs;

  beforeEach(() => {
    kept = new KeptSpecs();
  });

  function keeps(namespace: string, count: number, kilobytes: number): number {
    const all = Array.from({ length: count }, (_, i) => kept.admit(namespace, `${i}`, spec(kilobytes)));
    return all.filter((each) => each === undefined).length;
  }

  it("keeps no spec with which no sidecar could start, and says so", () => {
    expect(kept.admit("a", "1", spec(256))).to.equal(undefined);
    const problem = kept.admit("a", "2", spec(300));
    expect(problem?.reason).to.equal("TooLarge");
    expect(problem?.message).to.contain("more than 256 KB");
  });

  it("keeps thousands of small specs of a namespace, and no more than 2 MB of large ones", () => {
    expect(keeps("small", 4_000, 0.2)).to.equal(4_000);
    expect(keeps("large", 200, 200)).to.equal(10);
    expect(kept.admit("large", "more", spec(200))?.message).to.contain("delete others");
    expect(kept.admit("other", "1", spec(200))).to.equal(undefined);
  });

  it("counts an object once, and no more when it is gone", () => {
    expect(keeps("a", 10, 200)).to.equal(10);
    expect(keeps("a", 10, 200)).to.equal(10);
    for (let i = 0; i < 10; i++) kept.release("a", `${i}`);
    kept.release("a", "unknown");
    kept.release("unknown", "1");
    expect(keeps("a", 200, 200)).to.equal(10);
  });

  it("lets what it keeps grow by an eighth where there is no room for more objects", () => {
    expect(keeps("a", 11, 200)).to.equal(10);
    expect(kept.admit("a", "9", spec(201)), "an edit that adds something").to.equal(undefined);
    expect(kept.admit("a", "new", spec(200))?.reason).to.equal("TooLarge");
    const grown = Array.from({ length: 10 }, (_, i) => kept.admit("a", `${i}`, spec(250)));
    expect(
      grown.filter((each) => each === undefined),
      "of 250 KB each",
    ).to.have.lengthOf(9);
  });

  it("forgets an object that has grown too large", () => {
    expect(keeps("a", 10, 200)).to.equal(10);
    expect(kept.admit("a", "0", spec(300))?.reason).to.equal("TooLarge");
    expect(kept.admit("a", "new", spec(200))).to.equal(undefined);
  });

  it("keeps a bounded amount of all namespaces together", () => {
    const all = Array.from({ length: 20 }, (_, i) => keeps(`n${i}`, 10, 200));
    expect(all.reduce((sum, count) => sum + count)).to.be.within(38, 42);
  });

  it("keeps what people write of each namespace, though a few namespaces have filled all there is", () => {
    expect(keeps("quiet", 1, 0.5)).to.equal(1);
    for (let i = 0; i < 8; i++) keeps(`full-${i}`, 8_000, 0.2);
    expect(keeps("full-8", 100, 200)).to.equal(0);
    expect(keeps("late", 100, 0.5)).to.be.within(15, 25);
    expect(kept.admit("quiet", "0", spec(2)), "an edit of what was there before").to.equal(undefined);
  });
});
