import { expect } from "chai";
import { sidecarResources } from "./sidecar-resources.js";

const defaults = { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } };

describe("sidecarResources", () => {
  it("are those of the operator, and for Guaranteed Pods with limits that equal the requests", () => {
    expect(sidecarResources(undefined, defaults)).to.deep.equal({
      resources: defaults,
      guaranteed: {
        requests: { cpu: "20m", memory: "64Mi" },
        limits: { cpu: "20m", memory: "64Mi" },
      },
      problems: [],
    });
  });

  it("are replaced side by side by those of the source, each as a whole", () => {
    const { resources } = sidecarResources({ requests: { cpu: "50m" }, limits: {} }, defaults);
    expect(resources).to.deep.equal({ requests: { cpu: "50m" }, limits: { memory: "64Mi" } });
    const other = sidecarResources({ limits: { cpu: 1, memory: "128Mi" } }, defaults);
    expect(other.resources).to.deep.equal({
      requests: defaults.requests,
      limits: { cpu: 1, memory: "128Mi" },
    });
    expect(other.guaranteed.requests).to.deep.equal({ cpu: 1, memory: "128Mi" });
  });

  it("have no limit below the request, for which the Pod would be refused", () => {
    const { resources, guaranteed, problems } = sidecarResources(
      { requests: { memory: "128Mi", cpu: "1" }, limits: { cpu: "1000m", memory: "100M" } },
      defaults,
    );
    expect(resources.limits).to.deep.equal({ cpu: "1000m", memory: "128Mi" });
    expect(guaranteed.limits).to.deep.equal(guaranteed.requests);
    expect(problems).to.have.length(1);
    expect(problems[0]?.message).to.match(/^the limit of memory, 100M, is less than the request, 128Mi/);
  });

  it("leave out what Kubernetes refuses, and say so", () => {
    const { resources, problems } = sidecarResources(
      {
        limits: { cpu: "1", gpu: "1", "vendor.example/gpu": "1", memory: "-1" },
        requests: { cpu: "much" },
        claims: [{ name: "claim" }],
      },
      defaults,
    );
    expect(resources).to.deep.equal({ limits: { cpu: "1", "vendor.example/gpu": "1" } });
    expect(problems.map(({ message }) => message.slice(0, 30))).to.deep.equal([
      "the resource cpu: much is left",
      "the resource gpu: 1 is left ou",
      "the resource memory: -1 is lef",
      "resources.claims are left out:",
    ]);
  });

  it("are nothing if nobody says anything", () => {
    expect(sidecarResources({}, {}).resources).to.deep.equal({});
  });
});
