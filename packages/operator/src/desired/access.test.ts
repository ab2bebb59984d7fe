import { expect } from "chai";
import type { ResolvedSource } from "../sources/source-element.js";
import type { SourcePlan } from "../sources/source-plan.js";
import { accessNeeds, flagConfigMap, flagReaderBindings } from "./access.js";

const own = { namespace: "shop", name: "limits" };
const foreign = { namespace: "team", name: "limits" };
const labels = {
  "app.kubernetes.io/managed-by": "open-feature-operator",
  "bunting.dev/access": "shop",
};

describe("accessNeeds", () => {
  it("are the FeatureFlags of all plans that no proxy serves, each once", () => {
    const source = (way: ResolvedSource["way"], flag = own): ResolvedSource => ({
      element: { uri: "", provider: "" },
      provider: "file",
      way,
      flag,
    });
    const plan = (...sources: ResolvedSource[]): SourcePlan => ({ sources }) as unknown as SourcePlan;
    const plans = [
      plan(source("file"), source("proxy", foreign)),
      plan(source("file"), source("direct", foreign), source("file", foreign)),
    ];
    expect(accessNeeds(plans)).to.deep.equal({
      files: [own, foreign],
      watched: [foreign],
      asksProxy: true,
    });
    expect(accessNeeds([])).to.deep.equal({ files: [], watched: [], asksProxy: false });
  });
});

describe("flagConfigMap", () => {
  const spec = { flagSpec: { flags: { f: { state: "ENABLED" } } } };

  it("has the flags as the file that the sidecar reads, and goes with its FeatureFlag", () => {
    expect(flagConfigMap({ metadata: { ...own, uid: "u" }, spec }, "shop")).to.deep.equal({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "limits",
        namespace: "shop",
        labels,
        annotations: { "openfeature.dev/featureflag": "limits" },
        ownerReferences: [
          {
            apiVersion: "core.openfeature.dev/v1beta1",
            kind: "FeatureFlag",
            name: "limits",
            uid: "u",
            controller: true,
          },
        ],
      },
      data: { "shop_limits.flagd.json": '{"flags":{"f":{"state":"ENABLED"}}}' },
    });
  });

  it("is in the namespace of the Pods, of which the FeatureFlag of another one can't own anything", () => {
    const { metadata, data } = flagConfigMap({ metadata: { ...foreign, uid: "u" }, spec }, "shop");
    expect(metadata.namespace).to.equal("shop");
    expect(metadata.name).to.match(/^flags-[0-9a-f]{16}$/);
    expect(metadata.annotations).to.deep.equal({ "openfeature.dev/featureflag": "team/limits" });
    expect(metadata).to.not.have.property("ownerReferences");
    expect(data).to.have.all.keys("team_limits.flagd.json");
  });

  it("has no flags where the FeatureFlag has none", () => {
    for (const empty of [undefined, {}, { flagSpec: null }])
      expect(flagConfigMap({ metadata: own, spec: empty }, "shop")["data"]).to.deep.equal({
        "shop_limits.flagd.json": '{"flags":{}}',
      });
  });
});

describe("flagReaderBindings", () => {
  const reader = { kind: "ClusterRole", name: "reader" } as const;

  it("let the namespace's ServiceAccounts read FeatureFlags where theirs are, once for each place", () => {
    const bindings = flagReaderBindings("shop", [own, { ...own, name: "other" }, foreign], reader);
    expect(bindings.map(({ metadata }) => metadata.namespace)).to.deep.equal(["shop", "team"]);
    const [first] = bindings;
    expect(first?.metadata.labels).to.deep.equal(labels);
    expect(first).to.deep.include({
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [
        { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:serviceaccounts:shop" },
      ],
    });
  });

  it("have another name for another role, since the role of a binding can't be changed", () => {
    const name = (role: string, kind: "ClusterRole" | "Role" = "ClusterRole") =>
      flagReaderBindings("shop", [own], { kind, name: role })[0]?.metadata.name;
    expect(name("a")).to.match(/^bunting-flag-readers-[0-9a-f]{16}$/);
    expect(new Set([name("a"), name("b"), name("a", "Role")])).to.have.property("size", 3);
  });
});
