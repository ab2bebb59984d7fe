import { expect } from "chai";
import { freeHeapBytes, heapLimitBytes, usedHeapBytes } from "./heap.js";

describe("the heap", () => {
  it("has a limit, of which a part is in use and the rest is free", () => {
    const limitBytes = heapLimitBytes();
    expect(usedHeapBytes()).to.be.within(1_000_000, limitBytes);
    expect(freeHeapBytes()).to.be.within(1, limitBytes - 1_000_000);
    expect(heapLimitBytes(), "it does not change").to.equal(limitBytes);
  });
});
