import { expect } from "chai";
import { GarbageBound } from "./garbage-bound.js";

const megabyte = 1024 * 1024;

describe("GarbageBound", () => {
  it("asks for a collection until there has been one", () => {
    const bound = new GarbageBound();
    const asked = [20, 49, 90, 20, 80, 89].map((used) => bound.isExceeded(used * megabyte));
    expect(asked).to.deep.equal([false, true, true, false, false, true]);
  });

  it("takes for being in use what no collection frees", () => {
    const bound = new GarbageBound();
    for (let second = 0; second < 10; second++) expect(bound.isExceeded(500 * megabyte)).to.equal(true);
    for (let second = 0; second < 10; second++)
      expect(bound.isExceeded((500 + 50 * second) * megabyte)).to.equal(false);
    expect(bound.isExceeded(1_100 * megabyte)).to.equal(true);
  });
});
