import { expect } from "chai";
import type { PodSpec } from "../../api/pod-manifest.js";
import { isMissed, mayBeMissed } from "./is-missed.js";

const source = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "shop" };
const direct = { "openfeature.dev/enabled": "true", "openfeature.dev/inprocessconfiguration": "direct" };
const app = { name: "app" };

describe("isMissed", () => {
  const of = (
    annotations: Readonly<Record<string, string>>,
    spec: Partial<PodSpec> = {},
    phase = "Running",
  ): boolean =>
    isMissed({
      metadata: { namespace: "shop", name: "a", annotations },
      spec: { containers: [app], ...spec },
      status: { phase },
    });

  it("is so for a Pod that runs, or will, without what it asks for", () => {
    for (const phase of ["Running", "Pending", "Unknown"])
      expect(of(source, {}, phase), phase).to.equal(true);
    expect(of(direct)).to.equal(true);
    expect(of({ "openfeature.dev/enabled": "true" })).to.equal(true);
    const other = [{ name: "app", env: [{ name: "FLAGD_RESOLVER", value: "rpc" }] }];
    expect(of(direct, { containers: other })).to.equal(true);
  });

  it("is not for a Pod that has finished, or that says what became of it", () => {
    expect(of(source, {}, "Succeeded")).to.equal(false);
    expect(of(source, {}, "Failed")).to.equal(false);
    expect(of({ ...source, "bunting.dev/injected": "policy 1" })).to.equal(false);
    expect(of({ ...source, "bunting.dev/not-injected": "HostNetwork" })).to.equal(false);
  });

  it("is so for a Pod that was created before what it asks for", () => {
    for (const reason of ["UnknownSource", "NotShared", "InvalidSource"])
      expect(of({ ...source, "bunting.dev/not-injected": reason }), reason).to.equal(true);
  });

  it("is not for what the open-feature-operator has injected, which marks nothing", () => {
    expect(of(source, { initContainers: [{ name: "flagd" }] })).to.equal(false);
    expect(of(source, { containers: [app, { name: "flagd" }] })).to.equal(false);
    const inProcess = [{ name: "app", env: [{ name: "MY_RESOLVER", value: "in-process" }] }];
    expect(of(direct, { containers: inProcess })).to.equal(false);
    expect(of(source, { containers: inProcess }), "it asks for a sidecar").to.equal(true);
  });

  it("may be told by the metadata", () => {
    expect(mayBeMissed({ name: "a", annotations: source })).to.equal(true);
    for (const metadata of [
      { annotations: { ...source, "bunting.dev/injected": "webhook 1" } },
      { annotations: { ...source, "bunting.dev/not-injected": "PortTaken" } },
      { annotations: { ...source, "kubernetes.io/config.mirror": "4f" } },
      { annotations: source, deletionTimestamp: "2026-01-01T00:00:00Z" },
    ])
      expect(mayBeMissed({ name: "a", ...metadata })).to.equal(false);
  });
});
