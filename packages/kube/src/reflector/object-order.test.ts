import { expect } from "chai";
import { ObjectOrder } from "./object-order.js";

describe("ObjectOrder", () => {
  it("accepts newer versions, and none twice or backwards", () => {
    const order = new ObjectOrder();
    const accepted = ["5", "5", "4", "9", "10", "9"].map((version) => order.accept(1, version));
    expect(accepted).to.deep.equal([true, false, false, true, true, false]);
    expect(order.resourceVersionIn(1)).to.equal("10");
  });

  it("accepts any version of a later epoch, and none of an earlier one", () => {
    const order = new ObjectOrder();
    expect(order.accept(1, "100")).to.equal(true);
    expect(order.accept(2, "3")).to.equal(true);
    expect(order.accept(1, "101")).to.equal(false);
    expect(order.accept(2, "4")).to.equal(true);
  });

  it("knows what it accepted last", () => {
    const order = new ObjectOrder();
    expect(order.isAt(0, "")).to.equal(false);
    order.accept(1, "7");
    expect(order.isAt(1, "7")).to.equal(true);
    expect(order.isAt(2, "7")).to.equal(false);
    expect(order.isAt(1, "8")).to.equal(false);
  });

  it("has no version for another epoch", () => {
    const order = new ObjectOrder();
    order.accept(2, "100");
    expect([1, 2, 3].map((epoch) => order.resourceVersionIn(epoch))).to.deep.equal([
      undefined,
      "100",
      undefined,
    ]);
  });
});
