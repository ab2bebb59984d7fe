import { expect } from "chai";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { HealthState } from "./extension-health.js";
import { extensionStatus } from "./extension-status.js";

const [first, second] = [storedExtension("first"), storedExtension("second")] as const;
const order = { order: [first, second], cycles: new Map<string, readonly string[]>() };
const unasked: HealthState = { kind: "unasked" };

function reasons(status: ReturnType<typeof extensionStatus>): readonly string[] {
  return (status.conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
}

describe("extensionStatus", () => {
  it("has the place among all, and says that nobody has asked yet", () => {
    const status = extensionStatus(second, order, unasked, 0);
    expect(status).to.include({ order: 2, observedGeneration: 1 });
    expect(reasons(status)).to.deep.equal(["Ordered True Ordered", "Healthy Unknown NotAsked"]);
  });

  it("names the circle in which something is left out", () => {
    const cycles = new Map([["second", ["second", "first", "second"]]]);
    const status = extensionStatus(second, { ...order, cycles }, unasked, 0);
    expect(status.cycle).to.equal("second → first → second");
    expect(reasons(status)[0]).to.equal("Ordered False Cycle");
    expect(status.conditions?.[0]?.message).to.contain("second → first → second");
  });

  it("keeps the last error when all is well again, and what a leader of before has found", () => {
    const failing = extensionStatus(first, order, { kind: "failing", lastError: "it answered 503" }, 0);
    expect(reasons(failing)[1]).to.equal("Healthy False Failing");
    expect(failing.conditions?.[1]?.message).to.equal("It answered 503.");
    const stored = { ...first, status: failing };
    expect(extensionStatus(stored, order, unasked, 1)).to.deep.equal(failing);
    const healthy = extensionStatus(stored, order, { kind: "healthy" }, 1);
    expect(healthy.lastError).to.equal("it answered 503");
    expect(reasons(healthy)[1]).to.equal("Healthy True Answered");
  });
});
