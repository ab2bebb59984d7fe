import { expect } from "chai";
import { ReadinessHealth } from "./readiness-health.js";

describe("ReadinessHealth", () => {
  it("has one status for the server and each of its services, and none for others", () => {
    const readiness = { isReady: false };
    const health = new ReadinessHealth(() => readiness, ["a.B"]);
    expect([health.statusOf(""), health.statusOf("a.B"), health.statusOf("c.D")]).to.deep.equal([
      "NOT_SERVING",
      "NOT_SERVING",
      undefined,
    ]);
    readiness.isReady = true;
    expect([health.statusOf(""), health.statusOf("a.B")]).to.deep.equal(["SERVING", "SERVING"]);
  });

  it("notifies listeners of a change until they are removed", () => {
    const health = new ReadinessHealth(() => ({ isReady: true }));
    let told = 0;
    const leave = health.onChange(() => told++);
    health.changed();
    leave();
    health.changed();
    expect(told).to.equal(1);
  });
});
