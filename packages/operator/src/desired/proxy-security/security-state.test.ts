import { expect } from "chai";
import {
  nextSecurityState,
  securityWait,
  podSettleMs,
  type SecurityState,
  type SecurityTarget,
  type SecurityView,
} from "./security-state.js";

/** Nothing is missing, and nothing is in the way. */
const ready: SecurityView = {
  nowMs: podSettleMs,
  otherProxies: 0,
  hasAuthority: true,
  plainPods: 0,
  securedPods: 0,
};

const next = (
  state: SecurityState,
  target: SecurityTarget,
  change: Partial<SecurityView> = {},
): SecurityState => nextSecurityState({ state, sinceMs: 0 }, target, { ...ready, ...change });

const wait = (state: SecurityState, target: SecurityTarget, change: Partial<SecurityView> = {}): string =>
  securityWait({ state, sinceMs: 0 }, target, { ...ready, ...change });

function way(from: SecurityState, target: SecurityTarget): readonly SecurityState[] {
  const states: SecurityState[] = [from];
  for (let state = from; ;) {
    const following = next(state, target);
    if (following === state) return states;
    states.push(following);
    state = following;
  }
}

describe("nextSecurityState", () => {
  it("goes from off to on, and back, by proxies that serve both", () => {
    expect(way("off", "on")).to.deep.equal(["off", "opening", "mixed", "closing", "on"]);
    expect(way("on", "off")).to.deep.equal(["on", "reopening", "mixed", "leaving", "ending", "off"]);
    expect(way("on", "mixed")).to.deep.equal(["on", "reopening", "mixed"]);
    expect(way("off", "mixed")).to.deep.equal(["off", "opening", "mixed"]);
  });

  it("turns round wherever it is asked to", () => {
    expect(way("opening", "off")).to.deep.equal(["opening", "ending", "off"]);
    expect(way("closing", "off").slice(0, 3)).to.deep.equal(["closing", "reopening", "mixed"]);
    expect(way("leaving", "on").slice(0, 2)).to.deep.equal(["leaving", "mixed"]);
    expect(way("ending", "mixed")).to.deep.equal(["ending", "opening", "mixed"]);
  });

  it("makes nothing before there is a certificate and an authority", () => {
    expect(next("off", "on", { hasAuthority: false })).to.equal("off");
    expect(wait("off", "on", { hasAuthority: false })).to.equal("authority");
    expect(next("opening", "on", { hasAuthority: false })).to.equal("opening");
    expect(wait("opening", "on", { hasAuthority: false })).to.equal("authority");
  });

  it("waits for every replica of the proxy", () => {
    for (const state of ["opening", "closing"] as const) {
      expect(next(state, "on", { otherProxies: 1 })).to.equal(state);
      expect(next(state, "on", { otherProxies: undefined })).to.equal(state);
      expect(wait(state, "on", { otherProxies: 1 })).to.equal("proxies");
    }
    expect(next("reopening", "off", { otherProxies: 1 })).to.equal("reopening");
    expect(next("ending", "off", { otherProxies: 1 })).to.equal("ending");
  });

  it("lets no proxy refuse plaintext while a Pod speaks it, or may have been let in with it", () => {
    expect(next("mixed", "on", { plainPods: 1 })).to.equal("mixed");
    expect(next("mixed", "on", { plainPods: undefined })).to.equal("mixed");
    expect(next("mixed", "on", { nowMs: podSettleMs - 1 })).to.equal("mixed");
    expect(wait("mixed", "on", { nowMs: podSettleMs - 1 })).to.equal("settling");
    expect(wait("mixed", "on", { plainPods: 1 })).to.equal("plainPods");
    expect(wait("mixed", "mixed")).to.equal("nothing");
  });

  it("lets no proxy stop TLS while a Pod speaks it, or may have been let in with it", () => {
    expect(next("leaving", "off", { securedPods: 1 })).to.equal("leaving");
    expect(next("leaving", "off", { securedPods: undefined })).to.equal("leaving");
    expect(next("leaving", "off", { nowMs: podSettleMs - 1 })).to.equal("leaving");
    expect(wait("leaving", "off", { securedPods: 1 })).to.equal("securedPods");
  });

  it("opens for no Pod what is closed", () => {
    expect(next("on", "on", { plainPods: 5, hasAuthority: false, otherProxies: 2 })).to.equal("on");
  });
});
