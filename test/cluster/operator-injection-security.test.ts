import {
  podNeeds,
  type FeatureFlagSource,
  type InProcessConfiguration,
} from "@bunting/featureflags/resources";
import type { InjectionSpec } from "@bunting/operator/internal/api/injection.js";
import type { PodManifest, PodSpec } from "@bunting/operator/internal/api/pod-manifest.js";
import { compileInjection } from "@bunting/operator/internal/desired/injection.js";
import {
  securityAccess,
  securityStates,
  type PodAccess,
} from "@bunting/operator/internal/desired/proxy-security/security-state.js";
import { expect } from "chai";
import { admitted, expectEqualWays } from "./support/equal-ways.js";
import { InjectionWorlds, restrictedSpec, type InjectionWorld } from "./support/injection-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const apiVersion = "core.openfeature.dev/v1beta1" as const;
const proxyAddress = "flagd-proxy-svc.flags.svc.cluster.local:8015";
const app = { name: "app", image: "shop.example/app" };

const sources: Readonly<Record<string, FeatureFlagSource["spec"]>> = {
  proxied: { sources: [{ source: "flags", provider: "flagd-proxy" }] },
  socket: {
    sources: [{ source: "flags", provider: "flagd-proxy" }],
    socketPath: "/run/openfeature/flagd.sock",
  },
  prefixed: { sources: [{ source: "flags", provider: "flagd-proxy" }], envVarPrefix: "FEATURES" },
  file: { sources: [{ source: "flags", provider: "file" }] },
};

/** What the operator compiles where sidecars are given this. */
function compiled(proxyAccess: PodAccess): InjectionSpec {
  const find = (key: string): FeatureFlagSource | undefined => {
    const spec = sources[key.replace("shop/", "")];
    const metadata = { namespace: "shop", name: key };
    return spec && { apiVersion, kind: "FeatureFlagSource", metadata, spec };
  };
  const inProcess: InProcessConfiguration = {
    apiVersion,
    kind: "InProcessConfiguration",
    metadata: { namespace: "shop", name: "direct" },
    spec: { host: "flagd-proxy-svc.flags" },
  };
  const { injection } = compileInjection(
    {
      namespace: { name: "shop", annotations: {} },
      catalogue: {
        featureFlagSource: find,
        flagReaders: () => undefined,
        inProcessConfiguration: () => inProcess,
      },
      rules: {
        namespace: "shop",
        crossNamespace: "consent",
        providerKubernetes: "proxy",
        proxyAddress,
        defaults: {},
        inProcessDefaults: {},
      },
      settings: {
        image: "registry.example/agent:1.2",
        resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } },
        imagePullSecrets: [],
        applicationEnv: "connection",
        hostNetworkPods: "skip",
        proxyAccess,
      },
    },
    { sources: Object.keys(sources), inProcess: ["direct"] },
  );
  if (injection === undefined) throw new Error("nothing was compiled");
  return injection.spec;
}

const whole = { limits: { cpu: "1", memory: "1Gi" } };
const specs: Readonly<Record<string, PodSpec>> = {
  "a Pod with a ServiceAccount": { containers: [app], serviceAccountName: "shop" },
  "a Pod without one, which gets no token": { containers: [app] },
  "the class Guaranteed": { containers: [{ ...app, resources: whole }], serviceAccountName: "shop" },
  "a Pod of the standard `restricted`": { ...restrictedSpec, serviceAccountName: "shop" },
  "a mesh in front, and an init container": {
    containers: [app],
    initContainers: [
      { ...app, name: "istio-init" },
      { ...app, name: "migrate" },
    ],
    serviceAccountName: "shop",
  },
  "a volume of the name of the identity": {
    containers: [app],
    volumes: [{ name: "bunting-identity", emptyDir: {} }],
    serviceAccountName: "shop",
  },
};

function asking(annotation: string, text: string, spec: PodSpec): PodManifest {
  const annotations = { "openfeature.dev/enabled": "true", [`openfeature.dev/${annotation}`]: text };
  return { metadata: { name: "app", annotations }, spec };
}

describe("injection by policy and by webhook while the proxy's security changes", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  const entries = { plain: compiled("plain"), secured: compiled("secured") };
  let worlds: InjectionWorlds;
  let world: Readonly<Record<PodAccess, InjectionWorld>>;

  before(async () => {
    worlds = await InjectionWorlds.create(cluster());
    world = {
      plain: await worlds.world(entries.plain),
      secured: await worlds.world(entries.secured),
    };
  });
  after(() => worlds.policies.remove());

  for (const state of securityStates) {
    const { pods: access } = securityAccess[state];
    for (const [what, spec] of Object.entries(specs))
      it(`makes the same of ${what} in ${state}, and nothing more of the result`, async () => {
        for (const pod of [
          ...Object.keys(sources).map((source) => asking("featureflagsource", source, spec)),
          asking("inprocessconfiguration", "direct", spec),
        ]) {
          const made = await expectEqualWays(pod, entries[access], worlds, world[access]);
          expect(made.metadata.annotations?.["bunting.dev/injected"]).to.match(/^policy /);
          expect(admitted(made, entries[access])).to.deep.equal(made);
        }
      });

    it(`gives Pods in ${state} what the transition counts them for`, async () => {
      const spec = specs["a Pod with a ServiceAccount"] ?? { containers: [app] };
      const needsOf = async (annotation: string, text: string) =>
        podNeeds(await worlds.create(world[access].injecting, asking(annotation, text, spec)));
      const ofState = { isPlain: access === "plain", isSecured: access === "secured" };
      for (const source of ["proxied", "socket", "prefixed"])
        expect(await needsOf("featureflagsource", source), source).to.deep.equal(ofState);
      const none = { isPlain: false, isSecured: false };
      expect(await needsOf("featureflagsource", "file")).to.deep.equal(none);
      const inProcess = { isPlain: true, isSecured: false };
      expect(await needsOf("inprocessconfiguration", "direct")).to.deep.equal(inProcess);
    });
  }

  it("counts a Pod without a ServiceAccount as one that needs both, once it is to be secured", async () => {
    const pod = asking("featureflagsource", "proxied", { containers: [app] });
    expect(podNeeds(await worlds.create(world.secured.injecting, pod))).to.deep.equal({
      isPlain: true,
      isSecured: true,
    });
  });

  for (const [before, after] of [
    ["plain", "secured"],
    ["secured", "plain"],
  ] as const) {
    it(`leaves the sidecar that the policy has made ${before} to the Pod, where the webhook knows already that Pods are ${after}`, async () => {
      const pod = asking("featureflagsource", "proxied", { containers: [app], serviceAccountName: "shop" });
      const made = await worlds.create(world[before].injecting, pod);
      const { spec } = admitted(made, entries[after]);
      expect(spec.initContainers).to.deep.equal(made.spec.initContainers);
      expect(podNeeds({ spec })).to.deep.equal(podNeeds(made));
    });
  }
});
