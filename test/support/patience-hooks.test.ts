import { expect } from "chai";
import mocha from "mocha";
import { lengthen } from "./patience-hooks.js";
import { patient } from "./patience.js";

describe("the patience of a run", () => {
  it("lengthens what tests and hooks of all suites may take, each once", () => {
    const root = new mocha.Suite("", new mocha.Context());
    const outer = mocha.Suite.create(root, "outer");
    outer.timeout(50);
    const inner = mocha.Suite.create(outer, "inner");
    const test = new mocha.Test("a test", () => undefined);
    inner.addTest(test);
    outer.beforeAll("a hook", () => undefined);
    lengthen(root, (ms) => ms + 7);
    const hook = Object.values(outer)
      .flat()
      .find((each) => each instanceof mocha.Hook);
    expect([test.timeout(), hook?.timeout()]).to.deep.equal([57, 57]);
  });

  it("counts for what this test asks for itself", function () {
    this.timeout(10_000);
    expect(this.timeout()).to.equal(patient(10_000));
  });
});
