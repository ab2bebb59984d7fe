import { expect } from "chai";
import { extensionRequest, proxyDeployment, sidecarObject } from "../extension-request.fixture.js";
import type { ExtensionObject } from "../extension-request.js";
import { qualityOfService, type QualityLevel } from "./quality-of-service.js";

const dev = { requests: { cpu: "10m" }, limits: { cpu: null, memory: "128Mi" } };

async function resourcesIn(
  namespace: string,
  levels: Readonly<Record<string, QualityLevel>>,
  object: ExtensionObject = sidecarObject(),
): Promise<unknown> {
  const asked = extensionRequest({ target: "Sidecar", object });
  const changed = await qualityOfService(levels)({
    ...asked,
    namespace: { ...asked.namespace, name: namespace },
  });
  const resources = JSON.stringify([changed]).matchAll(/"resources":(\{.*?\}\})/g);
  return [...resources].map(([, text = ""]) => JSON.parse(text) as unknown);
}

describe("qualityOfService", () => {
  it("gives sidecars what the end of their namespace's name stands for, and keeps the rest", async () => {
    expect(await resourcesIn("shop-dev", { "-dev": dev, "-pro": {} })).to.deep.equal([
      { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "128Mi" } },
    ]);
  });

  it("leaves namespaces alone that no level fits", async () => {
    expect(await resourcesIn("dev-shop", { "-dev": dev })).to.deep.equal([]);
  });

  it("takes the longest of the ends that fit", async () => {
    const levels = { v: {}, "-dev": { limits: { cpu: "2" } }, "": dev };
    expect(await resourcesIn("shop-dev", levels)).to.deep.equal([
      { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "2", memory: "64Mi" } },
    ]);
  });

  it("gives them to all containers of a Deployment", async () => {
    expect(await resourcesIn("shop-dev", { "-dev": dev }, proxyDeployment())).to.deep.equal([
      { requests: { cpu: "10m" }, limits: { memory: "128Mi" } },
      { requests: { cpu: "10m" }, limits: { memory: "128Mi" } },
    ]);
  });

  it("takes requests and limits away, and leaves no empty ones", async () => {
    const none = {
      requests: { cpu: null, memory: null },
      limits: { cpu: null, memory: null, storage: null },
    };
    const asked = extensionRequest({ target: "Sidecar", object: sidecarObject() });
    const changed = await qualityOfService({ "-dev": none })(asked);
    expect(JSON.stringify(changed)).to.include(
      '"container":{"name":"flagd","image":"agent:1","resources":{}}',
    );
  });

  it("says which level is wrong, and how", () => {
    const levels =
      (value: unknown): (() => unknown) =>
      () =>
        qualityOfService(value as Readonly<Record<string, QualityLevel>>);
    expect(levels([])).to.throw("levels are an object");
    for (const [level, problem] of [
      [[], "is no object"],
      [{ cpu: "1" }, "has cpu, which is neither requests nor limits"],
      [{ limits: { cpu: "much" } }, "limits are an object of quantities"],
      [{ limits: { cpu: -1 } }, "limits are an object of quantities"],
      [{ requests: ["1"] }, "requests are an object of quantities"],
    ])
      expect(levels({ "-dev": level }), JSON.stringify(level))
        .to.throw(`the level of "-dev"`)
        .with.property("message")
        .that.includes(problem);
    for (const quantity of ["1", "100m", "64Mi", "1.5G", "1e3", 2, null])
      expect(levels({ "-dev": { limits: { cpu: quantity } } }), String(quantity)).to.not.throw();
  });
});
