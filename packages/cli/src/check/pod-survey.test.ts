import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { PodSurvey } from "./pod-survey.js";

const asking = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "a" };
const injected = { ...asking, "bunting.dev/injected": "policy abc" };

function pod(
  name: string,
  annotations: Readonly<Record<string, string>>,
  {
    image,
    owner,
    ...further
  }: { readonly image?: string; readonly owner?: string; readonly status?: object } = {},
): KubeObject {
  const sidecars = image === undefined ? [] : [{ name: "flagd", image }];
  const ownerReferences = owner === undefined ? [] : [{ name: owner }];
  return {
    metadata: { namespace: "shop", name, annotations, ownerReferences },
    spec: { containers: [{ name: "app" }], initContainers: sidecars },
    ...further,
  };
}

function surveyed(...pods: readonly KubeObject[]): PodSurvey {
  const survey = new PodSurvey();
  for (const each of pods) survey.add(each);
  return survey;
}

const names = (groups: PodSurvey["without"]): readonly string[] =>
  groups.map(({ pod: { metadata }, count }) => `${metadata?.name ?? ""} ${count}`);

describe("PodSurvey", () => {
  it("keeps one Pod of those of an owner that miss the same", () => {
    const survey = surveyed(
      pod("web-1", asking, { owner: "web" }),
      pod("web-2", asking, { owner: "web" }),
      pod("web-3", { ...asking, "bunting.dev/not-injected": "HostNetwork" }, { owner: "web" }),
      pod("other", asking),
    );
    expect(names(survey.without)).to.deep.equal(["web-1 2", "web-3 1", "other 1"]);
  });

  it("passes over Pods that ask for nothing, have all, or have ended", () => {
    const survey = surveyed(
      pod("plain", {}),
      pod("good", injected, { image: "agent:1" }),
      pod("done", asking, { status: { phase: "Succeeded" } }),
      pod("in-process", {
        "openfeature.dev/enabled": "true",
        "openfeature.dev/inprocessconfiguration": "a",
        "bunting.dev/injected": "policy b",
      }),
      // Of the open-feature-operator.
      pod("stock", asking, { image: "flagd:1" }),
    );
    expect(survey.without).to.deep.equal([]);
    expect(survey.unwell).to.deep.equal([]);
    expect([...survey.images]).to.deep.equal([["agent:1", 1]]);
  });

  it("counts the sidecars that run and have a FeatureFlag from a proxy, and keeps some of them to be asked", () => {
    const selector = "core.openfeature.dev/shop/a";
    const sources = JSON.stringify([{ uri: "proxy:8015", provider: "grpc", selector }]);
    const args = ["--sources", sources];
    const reader = (name: string, ready: boolean): KubeObject => ({
      ...pod(name, injected, {
        status: { initContainerStatuses: [{ name: "flagd", ready, state: { running: {} } }] },
      }),
      spec: { containers: [{ name: "app" }], initContainers: [{ name: "flagd", image: "agent:1", args }] },
    });
    const many = Array.from({ length: 60 }, (_, index) => reader(`web-${index}`, true));
    const { readers } = surveyed(...many, reader("unready", false));
    expect([...readers.keys()]).to.deep.equal(["shop/a"]);
    expect(readers.get("shop/a")?.count).to.equal(60);
    expect(readers.get("shop/a")?.pods).to.have.length(50);
  });

  it("names a Pod that needs a proxy though it has no flags yet, as all are where there is no proxy", () => {
    const selector = "core.openfeature.dev/shop/a";
    const sourcesOf = (source: object): readonly string[] => ["--sources", JSON.stringify([source])];
    const withArgs = (name: string, args: readonly string[]): KubeObject => ({
      ...pod(name, injected),
      spec: { containers: [{ name: "app" }], initContainers: [{ name: "flagd", image: "agent:1", args }] },
    });
    const fromFile = withArgs("file", sourcesOf({ uri: "/flags.json", provider: "file" }));
    expect(surveyed(pod("plain", {}), fromFile, pod("waits", asking)).asker).to.equal(undefined);
    const fromProxy = withArgs("web", sourcesOf({ uri: "proxy:8015", provider: "grpc", selector }));
    expect(surveyed(fromFile, fromProxy).asker).to.equal("Pod shop/web");
    const env = [{ name: "FLAGD_HOST", value: "flagd-proxy-svc.flags" }];
    const inProcess = { ...pod("in-process", injected), spec: { containers: [{ name: "app", env }] } };
    expect(surveyed(inProcess).asker).to.equal("Pod shop/in-process");
  });

  it("counts sidecars of the open-feature-operator where that makes them, and those of the checked proxies alone", () => {
    const reader = (name: string, proxy: string): KubeObject => {
      const selector = "core.openfeature.dev/shop/a";
      const uri = `flagd-proxy-svc.${proxy}.svc.cluster.local:8015`;
      const args = ["--sources", JSON.stringify([{ uri, provider: "grpc", selector }])];
      const status = { initContainerStatuses: [{ name: "flagd", ready: true, state: { running: {} } }] };
      const containers = { containers: [{ name: "app" }], initContainers: [{ name: "flagd", args }] };
      return { ...pod(name, asking, { status }), spec: containers };
    };
    const pods = [reader("web-1", "flags"), reader("web-2", "other")];
    const count = (survey: PodSurvey): number => {
      for (const each of pods) survey.add(each);
      return survey.readers.get("shop/a")?.count ?? 0;
    };
    expect(count(new PodSurvey("flags", true))).to.equal(1);
    expect(count(new PodSurvey(undefined, true))).to.equal(2);
    expect(count(new PodSurvey("flags"))).to.equal(0);
    const inProcess = { "openfeature.dev/enabled": "true", "openfeature.dev/inprocessconfiguration": "a" };
    const survey = new PodSurvey("flags", true);
    survey.add(pod("in-process", inProcess));
    expect(survey.without).to.deep.equal([]);
    expect(survey.isAsking).to.equal(true);
  });

  it("groups sidecars that do not run by what they do", () => {
    const status = (state: object): object => ({ initContainerStatuses: [{ name: "flagd", state }] });
    const waiting = status({ waiting: { reason: "ErrImagePull" } });
    const survey = surveyed(
      pod("web-1", injected, { image: "agent:1", owner: "web", status: waiting }),
      pod("web-2", injected, { image: "agent:1", owner: "web", status: waiting }),
      pod("web-3", injected, { image: "agent:2", owner: "web", status: status({ terminated: {} }) }),
    );
    expect(names(survey.unwell)).to.deep.equal(["web-1 2", "web-3 1"]);
    expect([...survey.images]).to.deep.equal([
      ["agent:1", 2],
      ["agent:2", 1],
    ]);
  });

  it("groups Pods by how they ask the operator's proxy, those of the open-feature-operator included", () => {
    const args = ["start", '--sources=[{"uri":"flagd-proxy-svc.flags:8015"}]'];
    const env = ["BUNTING_CA_FILE", "BUNTING_TOKEN_FILE"].map((name) => ({ name, value: "/run/it" }));
    const token = { name: "identity", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
    const volumeMounts = [{ name: "identity", mountPath: "/run" }];
    const asks = (name: string, owner: string, container: object): KubeObject => ({
      ...pod(name, asking, { owner }),
      spec: {
        containers: [{ name: "app" }],
        initContainers: [{ name: "flagd", args, ...container }],
        volumes: [token],
      },
    });
    const { askers } = surveyed(
      asks("old-1", "old", {}),
      asks("old-2", "old", {}),
      asks("new-1", "new", { env, volumeMounts }),
      pod("other", asking, { image: "agent:1" }),
    );
    expect(names(askers.plain)).to.deep.equal(["old-1 2"]);
    expect(names(askers.secured)).to.deep.equal(["new-1 1"]);
  });
});
