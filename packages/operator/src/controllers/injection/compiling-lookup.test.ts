import type { FeatureFlagSource } from "@bunting/featureflags/resources";
import { expect } from "chai";
import type { InjectionInputs } from "../../desired/injection.js";
import { compilingLookup } from "./compiling-lookup.js";

const source: FeatureFlagSource = {
  apiVersion: "core.openfeature.dev/v1beta1",
  kind: "FeatureFlagSource",
  metadata: { namespace: "shop", name: "a" },
  spec: { sources: [{ source: "limits", provider: "flagd-proxy" }] },
};
const hidden = { ...source, spec: { sources: [{ source: "team/limits", provider: "flagd-proxy" }] } };
const objects = new Map([
  ["shop/a", source],
  ["shop/b", source],
  ["shop/hidden", hidden],
  ["shop/odd", { ...source, spec: { ...source.spec, port: 8014 } }],
]);

const inputs = (name: string): InjectionInputs => ({
  namespace: { name, annotations: {} },
  catalogue: {
    featureFlagSource: (key) => objects.get(key),
    flagReaders: () => undefined,
    inProcessConfiguration: () => undefined,
  },
  rules: {
    namespace: name,
    crossNamespace: "consent",
    providerKubernetes: "proxy",
    proxyAddress: "proxy:8015",
    defaults: {},
    inProcessDefaults: {},
  },
  settings: {
    image: "agent:1",
    resources: {},
    imagePullSecrets: [],
    applicationEnv: "connection",
    hostNetworkPods: "skip",
    proxyAccess: "plain",
  },
});

describe("compilingLookup", () => {
  const ask = (text: string, list: "sources" | "inProcess" = "sources", hasSynced = true) =>
    compilingLookup({ hasSynced, inputs })("shop", { list, text });

  it("finds what is compiled of sources that are known", () => {
    expect(ask("a")).to.have.nested.property("container.name", "flagd");
    for (const text of ["a, b", "shop/a"])
      expect(ask(text)).to.have.nested.property("container.name", "flagd");
  });

  for (const [text, reason, says] of [
    ["", "NoSource", "the annotation names nothing"],
    ["nothing", "UnknownSource", "there is no FeatureFlagSource shop/nothing"],
    ["A", "UnknownSource", '"A"'],
    ["team/a", "NotShared", "does not exist, or is not shared with shop"],
    ["hidden", "NotShared", "the FeatureFlag team/limits does not exist, or is not shared"],
    ["odd", "InvalidSource", "managementPort: 8014"],
  ] as const)
    it(`tells a Pod with ${JSON.stringify(text)} why it gets nothing: ${reason}`, () => {
      const found = ask(text);
      expect(found).to.have.property("reason", reason);
      expect(found).to.have.property("message").that.contains(says);
    });

  it("looks in the list that the annotation is of", () => {
    expect(ask("a", "inProcess")).to.have.property("reason", "UnknownSource");
  });

  it("knows nothing before the sources were read", () => {
    expect(ask("a", "sources", false)).to.have.property("reason", "UnknownSource");
  });
});
