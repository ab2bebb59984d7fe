import { expect } from "chai";
import { OperatorReadiness } from "./operator-readiness.js";

describe("OperatorReadiness", () => {
  let met: Set<string>;
  let remarks: string[];
  let readiness: OperatorReadiness;

  beforeEach(() => {
    met = new Set();
    remarks = [];
    const preconditions = ["the certificate", "the first read"].map((what) => ({
      what: () => what,
      isMet: () => met.has(what),
    }));
    readiness = new OperatorReadiness(preconditions, () => remarks);
  });

  it("names what it waits for", () => {
    expect(readiness.check()).to.deep.equal({
      isReady: false,
      reason: "waiting for the certificate, and for the first read",
    });
    met.add("the certificate");
    expect(readiness.check()).to.deep.equal({ isReady: false, reason: "waiting for the first read" });
  });

  it("stays ready whatever breaks later, and says so", () => {
    met.add("the certificate").add("the first read");
    expect(readiness.check()).to.deep.equal({ isReady: true, reason: "ready" });
    met.clear();
    remarks.push("the API server is away");
    expect(readiness.check()).to.deep.equal({ isReady: true, reason: "ready, but the API server is away" });
  });

  it("is not ready once the process stops", () => {
    met.add("the certificate").add("the first read");
    readiness.stopping();
    expect(readiness.check()).to.deep.equal({ isReady: false, reason: "the operator is shutting down" });
  });
});
