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
    const gpu = { "vendor.example/gpu": "1" };
    expect(resources).to.deep.equal({ requests: gpu, limits: { cpu: "1", ...gpu } });
    expect(problems.map(({ message }) => message.slice(0, 30))).to.deep.equal([
      "the resource cpu: much is left",
      "the resource gpu: 1 is left ou",
      "the resource memory: -1 is lef",
      "resources.claims are left out:",
    ]);
  });

  it("have of devices and huge pages the limit that is requested, as Kubernetes wants it", () => {
    const { resources, problems } = sidecarResources(
      {
        limits: { memory: "64Mi", "hugepages-2Mi": "4Mi", "a.example/device": "2" },
        requests: { memory: "32Mi", "hugepages-2Mi": "2Mi", "b.example/device": 1 },
      },
      defaults,
    );
    const unshared = { "hugepages-2Mi": "4Mi", "a.example/device": "2", "b.example/device": 1 };
    expect(resources.limits).to.deep.equal({ memory: "64Mi", ...unshared });
    expect(resources.requests).to.deep.equal({ memory: "32Mi", ...unshared });
    expect(problems.map(({ message }) => message.slice(0, 45))).to.deep.equal([
      "the request and the limit of hugepages-2Mi ar",
      "the request and the limit of b.example/device",
    ]);
    const bare = sidecarResources({ limits: { "hugepages-2Mi": "2Mi" } }, {});
    expect(bare.resources).to.deep.equal({});
    expect(bare.problems[0]?.message).to.contain("only to containers with cpu or memory");
  });

  it("are nothing if nobody says anything", () => {
    expect(sidecarResources({}, {}).resources).to.deep.equal({});
  });
});
