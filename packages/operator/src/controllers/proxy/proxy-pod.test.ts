import { expect } from "chai";
import { proxyPod, proxyPods } from "./proxy-pod.js";

describe("proxyPod", () => {
  const conditions = [{ type: "Ready", status: "True" }];
  const of = (status: object) =>
    proxyPod({ metadata: { name: "flagd-proxy-1", namespace: "bunting-system" }, status });

  it("has the address of a Pod that runs, ready or not", () => {
    expect(of({ phase: "Running", podIP: "10.0.0.1", conditions })).to.include({
      podIp: "10.0.0.1",
      isReady: true,
    });
    expect(of({ phase: "Pending", podIP: "10.0.0.1" })).to.include({ podIp: "10.0.0.1", isReady: false });
    expect(of({})).to.include({ podIp: undefined, isReady: false });
  });

  it("has none of a Pod that has ended, whose address another one may have: it would be sent the token", () => {
    for (const phase of ["Succeeded", "Failed"])
      expect(of({ phase, podIP: "10.0.0.1", conditions }).podIp, phase).to.equal(undefined);
  });

  it("is looked for in the operator's namespace alone, whatever labels Pods of others have", () => {
    expect(proxyPods("bunting-system")).to.include({ namespace: "bunting-system" });
    expect(proxyPods("bunting-system").labelSelector).to.not.be.oneOf([undefined, ""]);
  });
});
