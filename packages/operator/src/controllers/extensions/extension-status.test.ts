import { expect } from "chai";
import type { ExtensionStatus } from "../../api/extension.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { HealthState } from "./extension-health.js";
import { healthStatus, placeStatus } from "./extension-status.js";

const [first, second] = [storedExtension("first"), storedExtension("second")] as const;
const order = { order: [first, second], cycles: new Map<string, readonly string[]>() };
const failing: HealthState = { kind: "failing", hooks: ["pre-create"], lastError: "it answered 503" };
const unasked: HealthState = { kind: "unasked" };

function reasons(status: ExtensionStatus | undefined): readonly string[] {
  return (status?.conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
}

describe("placeStatus", () => {
  it("has the place among all", () => {
    const status = placeStatus(second, order, 0);
    expect(status).to.include({ order: 2, observedGeneration: 1 });
    expect(reasons(status)).to.deep.equal(["Ordered True Ordered"]);
  });

  it("names the circle in which something is left out", () => {
    const cycles = new Map([["second", ["second", "first", "second"]]]);
    const status = placeStatus(second, { ...order, cycles }, 0);
    expect(status.cycle).to.equal("second → first → second");
    expect(reasons(status)).to.deep.equal(["Ordered False Cycle"]);
    expect(status.conditions?.[0]?.message).to.contain("second → first → second");
  });
});

describe("healthStatus", () => {
  it("keeps the last error when all is well again", () => {
    const status = healthStatus(first, failing, 0);
    expect(reasons(status)).to.deep.equal(["Healthy False Failing"]);
    expect(status?.conditions?.[0]?.message).to.equal("It answered 503.");
    const healthy = healthStatus({ ...first, status: status ?? {} }, { kind: "healthy" }, 1);
    expect(healthy?.lastError).to.equal("it answered 503");
    expect(reasons(healthy)).to.deep.equal(["Healthy True Answered"]);
  });

  it("says nothing of what is said already, or of what nobody has asked", () => {
    const status = healthStatus(first, failing, 0) ?? {};
    expect(healthStatus({ ...first, status }, failing, 1)).to.equal(undefined);
    expect(healthStatus(first, unasked, 1)).to.equal(undefined);
  });

  it("takes back what was said of an edit before, and a failure at what is gone, but nothing that others find", () => {
    const failed = { ...first, status: healthStatus(first, failing, 0) ?? {} };
    expect(reasons(healthStatus(failed, unasked, 1))).to.deep.equal(["Healthy Unknown NotAsked"]);
    const healthy = { ...first, status: healthStatus(first, { kind: "healthy" }, 0) ?? {} };
    expect(healthStatus(healthy, unasked, 1)).to.equal(undefined);
    const edited = { ...healthy, metadata: { ...healthy.metadata, generation: 2 } };
    expect(reasons(healthStatus(edited, unasked, 1))).to.deep.equal(["Healthy Unknown NotAsked"]);
  });
});
