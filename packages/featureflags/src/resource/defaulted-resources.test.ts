import { expect } from "chai";
import { defaultedFlagd } from "./flagd.js";

describe("the defaults of custom resources", () => {
  it("are filled in where a Flagd and its parentRefs say nothing", () => {
    expect(defaultedFlagd({ featureFlagSource: "shop" })).to.deep.equal({
      featureFlagSource: "shop",
      replicas: 1,
      serviceType: "ClusterIP",
    });
    const routes = {
      hosts: ["flags.example"],
      parentRefs: [{ name: "edge" }, { name: "mesh", kind: "Service" }],
    };
    const defaulted = defaultedFlagd({ featureFlagSource: "shop", replicas: 0, gatewayApiRoutes: routes });
    expect(defaulted.replicas).to.equal(0);
    expect(defaulted.gatewayApiRoutes).to.deep.equal({
      hosts: ["flags.example"],
      parentRefs: [
        { name: "edge", group: "gateway.networking.k8s.io", kind: "Gateway" },
        { name: "mesh", group: "gateway.networking.k8s.io", kind: "Service" },
      ],
    });
  });
});
