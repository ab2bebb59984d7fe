import { expect } from "chai";
import type { Container, PodSpec } from "../api/pod-manifest.js";
import { bareEntry, fullEntry, inProcessEntry } from "./injection-entry.fixture.js";
import { sidecarFor } from "./quality-of-service.js";

describe("sidecarFor", () => {
  const limits = { cpu: "1", memory: "1Gi" };
  const withResources = (...resources: readonly object[]): PodSpec => ({
    containers: resources.map((each, index): Container => ({ name: `c${index}`, resources: each })),
  });

  it("keeps the class Guaranteed, however the quantities are written", () => {
    for (const spec of [
      withResources({ limits }),
      withResources({ limits, requests: limits }),
      withResources({ limits, requests: { cpu: "1000m", memory: "1024Mi" } }, { limits }),
      { ...withResources({ limits }), initContainers: withResources({ limits }).containers },
    ]) {
      expect(sidecarFor(spec, fullEntry)).to.equal(fullEntry.guaranteed);
    }
  });

  it("gives all others a sidecar that may burst", () => {
    for (const spec of [
      withResources({}),
      withResources({ limits, requests: { cpu: "500m" } }),
      withResources({ limits: { cpu: "1" } }),
      withResources({ limits: { cpu: "0", memory: "1Gi" } }),
      withResources({ limits }, {}),
      { ...withResources({ limits }), initContainers: [{ name: "init" }] },
    ]) {
      expect(sidecarFor(spec, fullEntry)).to.equal(fullEntry.container);
    }
  });

  it("claims nothing in a Pod that has resources of its own", () => {
    for (const resources of [{ limits }, { requests: { cpu: "1" } }]) {
      const sidecar = sidecarFor({ ...withResources({ limits }), resources }, fullEntry);
      expect(sidecar).to.not.have.property("resources");
      expect({ ...sidecar, resources: fullEntry.container?.resources }).to.deep.equal(fullEntry.container);
    }
    expect(sidecarFor({ ...withResources({}), resources: {} }, fullEntry)).to.equal(fullEntry.container);
  });

  it("has none for an entry without one, and the usual one where there is no other", () => {
    expect(sidecarFor(withResources({ limits }), inProcessEntry)).to.equal(undefined);
    expect(sidecarFor(withResources({ limits }), bareEntry)).to.equal(bareEntry.container);
  });
});
