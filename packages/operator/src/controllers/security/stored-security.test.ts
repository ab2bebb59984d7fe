import { expect } from "chai";
import { securityStates } from "../../desired/proxy-security/security-state.js";
import { readSecurity, securityConfigMap } from "./stored-security.js";

describe("the stored security", () => {
  it("is read as it was written, in each state", () => {
    for (const state of securityStates) {
      const security = { state, sinceMs: 1_000, waitsFor: "this" };
      expect(readSecurity(securityConfigMap("flags", security, "7"))).to.deep.equal(security);
    }
  });

  it("is written over the version that was read, and no other", () => {
    const security = { state: "on", sinceMs: 0, waitsFor: "" } as const;
    expect(securityConfigMap("flags", security, "7").metadata.resourceVersion).to.equal("7");
    expect(securityConfigMap("flags", security, undefined).metadata).to.not.have.property("resourceVersion");
  });

  for (const [what, data] of Object.entries({
    nothing: undefined,
    "another state": { state: "open", since: "2026-01-01T00:00:00Z" },
    "no state": { since: "2026-01-01T00:00:00Z" },
    "no time": { state: "on" },
    "a time that is none": { state: "on", since: "yesterday" },
    "a name that all objects have": { state: "toString", since: "2026-01-01T00:00:00Z" },
  })) {
    it(`is unknown where somebody has written ${what}`, () => {
      expect(readSecurity({ metadata: { name: "bunting-proxy-security" }, data })).to.equal(undefined);
    });
  }
});
