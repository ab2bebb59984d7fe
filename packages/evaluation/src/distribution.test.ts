import { expect } from "chai";
import fc from "fast-check";
import { parseDistribution, pickVariant } from "./distribution.js";
import type { Value } from "./value.js";

describe("parseDistribution", () => {
  const weights = (...shares: Value[]): number[] | undefined => {
    const ends = parseDistribution(shares)?.buckets.map(({ end }) => end);
    return ends?.map((end, i) => end - (ends[i - 1] ?? 0));
  };

  it("takes an absent weight, and null, as 1", () => {
    expect(weights(["a"], ["b", null], ["c", 3])).to.deep.equal([1, 1, 3]);
  });

  it("takes a negative weight as 0, and ignores what follows the weight", () => {
    expect(weights(["a", -5], ["b", 2, "x"])).to.deep.equal([0, 2]);
  });

  it("allows strings, booleans, numbers and null as variants", () => {
    expect(weights(["a"], [true], [1.5], [null])).to.have.length(4);
  });

  it("refuses shares of any other form", () => {
    const refused: Value[] = [
      "a",
      [],
      null,
      [["a"], 1],
      [{ a: 1 }],
      ["a", 1.5],
      ["a", "5"],
      ["a", true],
      ["a", NaN],
      ["a", -1e19],
      [0n],
    ];
    for (const share of refused) expect(parseDistribution([["b", 1], share])).to.equal(undefined);
  });

  it("refuses weights that are, or add up to, more than 31 bits hold", () => {
    expect(weights(["a", 2 ** 31 - 1])).to.deep.equal([2 ** 31 - 1]);
    expect(weights(["a", 2 ** 31])).to.equal(undefined);
    expect(weights(["a", 2 ** 31 - 1], ["b", 1])).to.equal(undefined);
  });
});

describe("pickVariant", () => {
  it("gives null if all weights are zero", () => {
    expect(pickVariant({ buckets: [{ variant: "a", end: 0 }], totalWeight: 0 }, 5)).to.equal(null);
  });

  it("never picks a variant without weight", () => {
    const distribution = parseDistribution([
      ["a", 0],
      ["b", 1],
      ["c", 0],
    ]);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        (hash) => distribution !== undefined && pickVariant(distribution, hash) === "b",
      ),
    );
  });

  it("finds the place of a hash exactly, where the product needs 63 bits", () => {
    const weight = fc.integer({ min: 1, max: 2 ** 30 - 1 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), weight, weight, (hash, first, second) => {
        const distribution = parseDistribution([
          ["a", first],
          ["b", second],
        ]);
        const place = (BigInt(hash) * BigInt(first + second)) >> 32n;
        expect(distribution && pickVariant(distribution, hash)).to.equal(place < BigInt(first) ? "a" : "b");
      }),
    );
  });
});
