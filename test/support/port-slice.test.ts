import { expect } from "chai";
import { freePort } from "./free-port.js";
import { ownSlot, portsBeside, sliceOf, slotCount, type PortSlice } from "./port-slice.js";

describe("slices of ports", () => {
  const slots = [...Array.from({ length: slotCount }, (_, slot) => slot), undefined];

  it("share no port with each other, nor with the kernel's", () => {
    const slices = slots.map((slot) => sliceOf(slot, portsBeside([32_768, 60_999])));
    const sorted = [...slices].sort((a, b) => a.low - b.low);
    for (const [index, slice] of sorted.entries()) {
      expect(slice.high - slice.low).to.equal(1_000);
      expect(slice.low).to.be.at.least(sorted[index - 1]?.high ?? 18_000);
      expect(slice.high).to.be.at.most(32_768);
    }
  });

  it("keep clear of a kernel that was told to give out other ports", () => {
    const clear = (ports: PortSlice, [first, last]: readonly [number, number]): boolean =>
      ports.high <= first || ports.low > last;
    for (const ephemeral of [
      [25_000, 65_000],
      [1_024, 40_000],
      [10_000, 64_999],
      [49_152, 65_535],
    ] as const) {
      expect(clear(portsBeside(ephemeral), ephemeral), ephemeral.join("-")).to.equal(true);
    }
    expect(portsBeside([1_024, 65_535]), "no choice").to.deep.equal({ low: 18_000, high: 32_000 });
  });

  it("are what a free port is drawn from", async () => {
    const { low, high } = sliceOf(ownSlot());
    for (let draw = 0; draw < 20; draw++) expect(await freePort()).to.be.within(low, high - 1);
  });
});
