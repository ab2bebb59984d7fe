import { expect } from "chai";
import { operatedBy } from "./operated-by.js";

describe("operatedBy", () => {
  const ours = { isStock: false };
  const stock = { isStock: true };

  it("is our operator wherever it is, and the open-feature-operator only where it is alone", () => {
    const facts = { hasProxies: true, isAskedFor: true };
    expect(operatedBy({ ...facts, operators: [ours] })).to.equal("bunting");
    expect(operatedBy({ ...facts, operators: [stock, ours] })).to.equal("bunting");
    expect(operatedBy({ ...facts, operators: [stock] })).to.equal("stock");
  });

  it("is nobody where a proxy runs and nothing asks for an operator, and else misses ours", () => {
    const judged = (hasProxies: boolean, isAskedFor: boolean): string =>
      operatedBy({ operators: [], hasProxies, isAskedFor });
    expect(judged(true, false)).to.equal("nobody");
    expect(judged(true, true)).to.equal("bunting");
    expect(judged(false, false)).to.equal("bunting");
  });
});
