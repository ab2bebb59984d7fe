import { expect } from "chai";
import { comparePositions, isPosition } from "./position.js";

const at = (epoch: number, resourceVersion: string) => ({ epoch, resourceVersion });

describe("comparePositions", () => {
  it("orders by epoch, then by resourceVersion as an integer of any length", () => {
    const ordered = [
      at(1, "9"),
      at(1, "10"),
      at(1, "99999999999999999998"),
      at(1, "99999999999999999999"),
      at(2, "1"),
    ];
    const shuffled = [ordered[3], ordered[0], ordered[4], ordered[2], ordered[1]].filter(
      (one) => one !== undefined,
    );
    expect(shuffled.sort(comparePositions)).to.deep.equal(ordered);
    expect(comparePositions(at(3, "7"), at(3, "7"))).to.equal(0);
  });
});

describe("isPosition", () => {
  it("takes integers only", () => {
    expect(isPosition(at(0, "0"))).to.equal(true);
    const others = [
      at(-1, "1"),
      at(1.5, "1"),
      at(Number.NaN, "1"),
      at(1, ""),
      at(1, "01"),
      at(1, "1e3"),
      at(1, "x"),
    ];
    for (const other of others) expect(isPosition(other)).to.equal(false);
    expect(isPosition({ epoch: "1", resourceVersion: "1" })).to.equal(false);
    expect(isPosition({ epoch: 1, resourceVersion: 1 })).to.equal(false);
  });
});
