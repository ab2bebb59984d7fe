import { expect } from "chai";
import { defaultPeerMemoryBytes } from "./peer-memory-budget.js";

const mebibyte = 1024 * 1024;

describe("the default of what peers may hold", () => {
  for (const [what, heap, share, container, expected] of [
    ["the share of the heap", 256, 1, undefined, 256],
    ["the share of a small heap", 32, 1 / 4, undefined, 8],
    ["three quarters of what a container leaves", 512, 1, 180, 75],
    ["1 GiB at most", 4_096, 1, 16_384, 1_024],
    ["a little even if the container leaves nothing", 512, 1, 64, 4],
  ] as const) {
    it(`is ${what}`, () => {
      const bytes = defaultPeerMemoryBytes(share, {
        heapLimitBytes: heap * mebibyte,
        residentBytes: 80 * mebibyte,
        containerLimitBytes: container === undefined ? undefined : container * mebibyte,
      });
      expect(bytes).to.equal(expected * mebibyte);
    });
  }

  it("is a number on this machine", () => {
    expect(defaultPeerMemoryBytes(1)).to.be.within(4 * mebibyte, 1_024 * mebibyte);
  });
});
