import { expect } from "chai";
import { storedBudget } from "./fleet-budget.js";

describe("storedBudget", () => {
  const selector = { matchLabels: { app: "web" } };
  const of = (spec: object, status: object) =>
    storedBudget({ metadata: { name: "a", namespace: "shop", generation: 2 }, spec, status }).budget;

  it("allows what its controller has counted for the present spec", () => {
    expect(of({ selector }, { disruptionsAllowed: 3, observedGeneration: 2 })).to.deep.equal({
      ...{ namespace: "shop", name: "a", selector, allowed: 3 },
    });
    expect(of({ selector }, { disruptionsAllowed: 3, observedGeneration: 1 }).allowed).to.equal(0);
    expect(of({ selector }, {}).allowed).to.equal(0);
  });

  it("selects nothing without a selector, and holds the namespace with one that is too long to keep", () => {
    expect(of({}, {})).to.not.have.property("selector");
    expect(of({ selector: null }, {})).to.not.have.property("selector");
    const matchLabels = { app: "x".repeat(2_048) };
    expect(
      of({ selector: { matchLabels } }, { disruptionsAllowed: 3, observedGeneration: 2 }),
    ).to.deep.include({
      ...{ selector: {}, allowed: 0 },
    });
  });
});
