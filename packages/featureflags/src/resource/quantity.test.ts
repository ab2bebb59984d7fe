import { expect } from "chai";
import { nanoUnits } from "./quantity.js";

describe("nanoUnits", () => {
  const nano = 1_000_000_000n;

  for (const [quantity, units] of [
    ["1", nano],
    [2, 2n * nano],
    [0.5, nano / 2n],
    ["500m", nano / 2n],
    ["0.1", nano / 10n],
    [".5", nano / 2n],
    ["5.", 5n * nano],
    ["+1", nano],
    ["-1", -nano],
    ["100n", 100n],
    ["3u", 3_000n],
    ["1k", 1_000n * nano],
    ["1M", 1_000_000n * nano],
    ["1E", 10n ** 18n * nano],
    ["1E3", 1_000n * nano],
    ["15e-1", (15n * nano) / 10n],
    ["1Ki", 1024n * nano],
    ["1.5Gi", 1_610_612_736n * nano],
    ["1Ei", 1024n ** 6n * nano],
    ["0.00000000001", 1n],
    ["0", 0n],
  ] as const) {
    it(`reads ${quantity}`, () => expect(nanoUnits(quantity)).to.equal(units));
  }

  it("computes no number of a million digits", () => {
    const digits = "9".repeat(1_000_000);
    for (const text of [digits, `${digits}Ei`, `0.${digits}`, `1e${digits}`])
      expect(nanoUnits(text), text.slice(0, 5)).to.equal(undefined);
    expect(nanoUnits("9".repeat(60))).to.equal(BigInt("9".repeat(60)) * nano);
  });

  it("knows what is none", () => {
    for (const text of ["", "much", "1 Gi", "1mi", "--1", ".", "Gi", "1e", "1e1000000", "1ki", "0x10"]) {
      expect(nanoUnits(text), text).to.equal(undefined);
    }
  });
});
