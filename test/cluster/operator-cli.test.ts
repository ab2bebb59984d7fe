import { readFileSync } from "node:fs";
import path from "node:path";
import { knownReasons } from "@bunting/cli/internal/operator/explain/not-injected-advice.js";
import { servedInState } from "@bunting/cli/internal/check/judge/judge-security.js";
import { objectNames, podAnnotations } from "@bunting/cli/internal/operator/operator-names.js";
import { injectionNames } from "@bunting/operator/internal/api/injection.js";
import {
  annotations,
  buntingAnnotations,
  injectedByLabel,
  sidecarName,
} from "@bunting/operator/internal/api/names.js";
import {
  ownWebhookConfigurationNames,
  webhookConfigurationNames,
} from "@bunting/operator/internal/api/webhooks.js";
import { securityConfigMapName } from "@bunting/operator/internal/controllers/security/stored-security.js";
import { proxyTlsSecret } from "@bunting/operator/internal/desired/proxy-security/proxy-tls.js";
import {
  securityAccess,
  securityStates,
} from "@bunting/operator/internal/desired/proxy-security/security-state.js";
import { authorityConfigMap } from "@bunting/operator/internal/desired/sidecar-volumes.js";
import { notInjectedReasons } from "@bunting/operator/internal/pod/reasons.js";
import { expect } from "chai";
import { fullEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { runBunting, type CliRun } from "../support/cli-process.js";
import { InjectionWorlds, restrictedSpec } from "./support/injection-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const stockProxy = path.join(import.meta.dirname, "../fixtures/stock-operator/proxy-deployment.json");
const core = "/apis/core.openfeature.dev/v1beta1/namespaces";

describe("bunting operator on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let worlds: InjectionWorlds;
  before(async () => {
    worlds = await InjectionWorlds.create(cluster());
  });
  after(() => worlds.policies.remove());

  function operator(...args: readonly string[]): Promise<CliRun> {
    return runBunting(["operator", ...args, "--kubeconfig", cluster().kubeconfig]);
  }

  async function createPod(
    namespace: string,
    name: string,
    asks: Readonly<Record<string, string>>,
    spec: object = {},
  ): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}`;
    await cluster().api.request("POST", `${path}/serviceaccounts`, {
      body: { metadata: { name: "default" } },
    });
    await cluster().api.create(`${path}/pods`, {
      metadata: { name, annotations: asks },
      spec: { automountServiceAccountToken: false, ...restrictedSpec, ...spec },
    });
  }

  const asking = (text: string): Record<string, string> => ({
    "openfeature.dev/enabled": "true",
    "openfeature.dev/featureflagsource": text,
  });

  /** A FeatureFlagSource that the operator has judged. */
  async function putSource(
    namespace: string,
    name: string,
    condition: { readonly status: string; readonly reason: string; readonly message: string },
  ): Promise<void> {
    const path = `${core}/${namespace}/featureflagsources/${name}`;
    const object = {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name, namespace },
    };
    const spec = { sources: [{ source: "flags", provider: "flagd-proxy" }] };
    await cluster().api.apply(path, { ...object, spec });
    const conditions = [{ type: "Accepted", lastTransitionTime: "2026-01-01T00:00:00Z", ...condition }];
    await cluster().api.apply(`${path}/status`, { ...object, status: { conditions } });
  }

  const accepted = { status: "True", reason: "Accepted", message: "Everything in it is served." };

  it("knows the names and the reasons that the operator writes", () => {
    const { enabled, source, flag, inProcess, allowKubernetesSync } = podAnnotations;
    expect({ enabled, source, flag, inProcess, allowKubernetesSync }).to.deep.equal(annotations);
    const { injected, notInjected, injection } = podAnnotations;
    expect(buntingAnnotations).to.include({ injected, notInjected, injection });
    expect(objectNames.injectedBy).to.equal(injectedByLabel);
    expect([objectNames.sidecar, objectNames.injections]).to.deep.equal([sidecarName, injectionNames]);
    expect(objectNames.mutatingWebhook).to.equal(webhookConfigurationNames.mutating);
    expect(objectNames.validatingWebhook).to.equal(webhookConfigurationNames.validating);
    expect([
      objectNames.proxySecurity,
      objectNames.proxyCertificate,
      objectNames.proxyAuthority,
    ]).to.deep.equal([securityConfigMapName, proxyTlsSecret, authorityConfigMap]);
    const served = securityStates.map((state) => [state, securityAccess[state].proxy]);
    expect([...servedInState]).to.deep.equal(served);
    expect(`${objectNames.ownWebhooks}shop`).to.equal(ownWebhookConfigurationNames("shop").mutating);
    expect([...knownReasons].sort()).to.deep.equal(Object.keys(notInjectedReasons).sort());
  });

  describe("explain", () => {
    it("says of an injected Pod what it got, from which objects, and which FeatureFlag is missing", async () => {
      const { injecting } = await worlds.world({ sources: { checkout: fullEntry } });
      await putSource(injecting, "checkout", accepted);
      await createPod(injecting, "web", asking("checkout"));
      const { code, out, err } = await operator("explain", "pod", `${injecting}/web`);
      expect(err).to.equal("");
      expect(out.split("\n")[0]).to.equal(
        `${injecting}/web has flags, by the policy, entry ${fullEntry.digest}`,
      );
      expect(out).to.contain(
        '  compiled: Pods that are created now get the entry 0123456789abcdef for "checkout".',
      );
      expect(out).to.contain(`  FeatureFlagSource ${injecting}/checkout: accepted\n`);
      expect(out).to.contain("    Accepted is True (Accepted): Everything in it is served.");
      expect(out).to.match(/ {2}policy: .*inject\.bunting\.dev/);
      expect(out).to.contain("  sidecar: registry.example/bunting-agent:1.0.0\n");
      expect(out).to.contain("  FeatureFlag shop/flags: missing");
      expect(out.trimEnd().split("\n").at(-1)).to.match(/^Create the FeatureFlag shop\/flags, /);
      expect(code).to.equal(1);
    });

    it("finds annotations that are on the Deployment and not on its Pods, from either of them", async () => {
      const { injecting: namespace } = await worlds.world({ sources: {} });
      const labels = { app: "misplaced", "pod-template-hash": "abc" };
      const { api } = cluster();
      await api.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
        metadata: { name: "misplaced", annotations: asking("checkout") },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "misplaced" } },
          template: { metadata: { labels: { app: "misplaced" } }, spec: restrictedSpec },
        },
      });
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "misplaced-abc", uid: "some" };
      await createPod(namespace, "lone", {});
      await api.patch(`/api/v1/namespaces/${namespace}/pods/lone`, {
        metadata: { labels, ownerReferences: [owner] },
      });
      for (const name of [`deployment/${namespace}/misplaced`, `pod/${namespace}/lone`]) {
        const { code, out } = await operator("explain", name);
        expect(out, name).to.contain(" does not ask for flags\n");
        expect(out, name).to.match(
          /\nMove the annotations of openfeature\.dev from the Deployment's metadata/,
        );
        expect(code, name).to.equal(1);
      }
    });

    it("says of the newest Pod of a Deployment that nothing is to be done, also as JSON and YAML", async () => {
      const flags = await cluster().createNamespace();
      const container = { ...fullEntry.container, name: "flagd", args: sourcesOf(`${flags}/flags`) };
      const { injecting } = await worlds.world({ sources: { checkout: { ...fullEntry, container } } });
      await putSource(injecting, "checkout", accepted);
      await cluster().putFeatureFlag(flags, "flags", { flags: {} });
      const template = { metadata: { labels: { app: "web" }, annotations: asking("checkout") } };
      await cluster().api.create(`/apis/apps/v1/namespaces/${injecting}/deployments`, {
        metadata: { name: "web" },
        spec: {
          selector: { matchLabels: { app: "web" } },
          template: { ...template, spec: restrictedSpec },
        },
      });
      const without = await operator("explain", `deployment/web`, "-n", injecting);
      expect(without.out).to.match(/^\S+\/web has no Pods yet\n[^]*\nScale it up: /);
      expect(without.code).to.equal(0);
      await createPod(injecting, "unrelated", {});
      await cluster().api.create(`/api/v1/namespaces/${injecting}/pods`, {
        metadata: { name: "web-1", ...template.metadata },
        spec: { automountServiceAccountToken: false, ...restrictedSpec },
      });
      const { code, out } = await operator("explain", "deployment", `${injecting}/web`, "-o", "json");
      expect(code).to.equal(0);
      expect(JSON.parse(out)).to.include({ name: "web-1", verdict: "injected", isWell: true });
      expect(JSON.parse(out)).to.include({ advice: "Nothing is to be done." });
      const yaml = await operator("explain", "pod", `${injecting}/web-1`, "--output=yaml");
      expect(yaml.out).to.contain("\nadvice: Nothing is to be done.\n");
    });

    it("says why a Pod was not injected, and what its source's conditions are", async () => {
      const { injecting, plain } = await worlds.world({ sources: { checkout: fullEntry } });
      await createPod(injecting, "host", asking("checkout"), { hostNetwork: true });
      const host = await operator("explain", "pod", `${injecting}/host`);
      expect(host.out).to.match(/^\S+ asks for flags, and has none: HostNetwork\n/);
      expect(host.out).to.match(/\nSet hostNetwork to false/);
      await putSource(plain, "broken", {
        status: "False",
        reason: "UnknownProvider",
        message: "The provider nobody is not known.",
      });
      await createPod(plain, "web", asking("broken"));
      const missed = await operator("explain", "pod", `${plain}/web`);
      expect(missed.out).to.match(/^\S+ asks for flags, and has none: Missed\n/);
      expect(missed.out).to.contain(`The namespace ${plain} has no Injection`);
      expect(missed.out).to.contain(
        "    Accepted is False (UnknownProvider): The provider nobody is not known.",
      );
      expect(missed.out).to.match(/\nCorrect the FeatureFlagSource \S+ as its conditions say/);
      expect([host.code, missed.code]).to.deep.equal([1, 1]);
    });

    it("names what does not exist, and what can be explained", async () => {
      const namespace = await cluster().createNamespace();
      const unknown = await operator("explain", "pod", `${namespace}/nobody`);
      expect(unknown.err).to.contain(`there is no Pod ${namespace}/nobody`);
      const service = await operator("explain", "service", `${namespace}/nobody`);
      expect(service.err).to.contain('"service" can\'t be explained: name one of: pod NAMESPACE/NAME');
      expect([unknown.code, service.code]).to.deep.equal([2, 2]);
    });
  });

  describe("render", () => {
    const deployment = (source: string): string =>
      JSON.stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: {
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" }, annotations: asking(source) },
            spec: { ...restrictedSpec, automountServiceAccountToken: false },
          },
        },
      });

    it("shows what the API server adds to the Pods of a workload, and writes nothing", async () => {
      const { injecting } = await worlds.world({ sources: { checkout: fullEntry } });
      await createPod(injecting, "other", {});
      const render = (source: string, ...args: readonly string[]): Promise<CliRun> =>
        runBunting(
          ["operator", "render", "-", "-n", injecting, "--kubeconfig", cluster().kubeconfig, ...args],
          {
            stdin: deployment(source),
          },
        );
      const { code, out, err } = await render("checkout");
      expect(err).to.equal("");
      expect(out).to.match(new RegExp(`^Deployment ${injecting}/web: gets\n`));
      expect(out).to.contain(`    bunting.dev/injected: policy ${fullEntry.digest}\n`);
      expect(out).to.contain("\n  containers:\n    - name: flagd\n");
      expect(out).to.match(/\n {2}volumes:\n {4}- name: bunting-cache\n/);
      expect(out).to.match(/\n {2}variables:\n {4}app:\n {6}env:\n/);
      expect(code).to.equal(0);
      const whole = await render("checkout", "--json");
      const pod = JSON.parse(whole.out) as { kind: string; spec: { initContainers: { name: string }[] } };
      expect(pod.kind).to.equal("Pod");
      expect(pod.spec.initContainers.map(({ name }) => name)).to.deep.equal(["flagd"]);
      const nothing = await render("unknown");
      expect(nothing.out).to.match(/^Deployment \S+: gets nothing \(/);
      expect(nothing.code).to.equal(1);
      const { items } = await cluster().api.list(`/api/v1/namespaces/${injecting}/pods`);
      expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(["other"]);
    });

    it("says what a dry run needs if the API server would not take the Pod", async () => {
      const args = ["operator", "render", "-", "-n", "nowhere", "--kubeconfig", cluster().kubeconfig];
      const { code, err } = await runBunting(args, { stdin: deployment("checkout") });
      expect(err).to.contain("the API server would not take the Pod of Deployment nowhere/web");
      expect(err).to.contain("A dry run needs the namespace");
      expect(code).to.equal(2);
    });
  });

  describe("migrate check", () => {
    const apps = (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/deployments`;

    it("finds what a take-over of the open-feature-operator meets, worst first", async () => {
      const [own, shop] = [await cluster().createNamespace(), await cluster().createNamespace()];
      const { spec } = JSON.parse(readFileSync(stockProxy, "utf8")) as { readonly spec: object };
      await cluster().api.create(apps(own), { metadata: { name: "flagd-proxy" }, spec });
      const manager = { name: "manager", image: "ghcr.io/open-feature/open-feature-operator:v0.9.4" };
      const selector = { matchLabels: { "control-plane": "controller-manager" } };
      const name = "open-feature-operator-controller-manager";
      const annotations = { "meta.helm.sh/release-name": "flags" };
      await cluster().api.create(apps(own), {
        metadata: { name, annotations },
        spec: {
          selector,
          template: { metadata: { labels: selector.matchLabels }, spec: { containers: [manager] } },
        },
      });
      await putSource(own, "shared", accepted);
      await createPod(shop, "web", asking(`${own}/shared`));
      await createPod(shop, "on-node", asking(`${own}/shared`), { hostNetwork: true });
      try {
        const { code, out, err } = await operator("migrate", "check");
        expect(err).to.equal("");
        const ours = out.split("\n").filter((line) => line.includes(own));
        expect(ours.map((line) => line.slice(0, line.indexOf(": ", 9)))).to.deep.equal([
          `blocks: Deployment ${own}/flagd-proxy`,
          `warns: FeatureFlagSource ${own}/shared`,
          `tells: Deployment ${own}/${name}`,
          `tells: Deployment ${own}/${name}`,
        ]);
        expect(ours[0]).to.contain(`kubectl -n ${own} label deployment flagd-proxy`);
        expect(ours[1]).to.contain(`Pods in ${shop} use it`);
        expect(ours[3]).to.contain(`helm upgrade flags deploy/helm/bunting-operator --namespace ${own}`);
        expect(out).to.match(
          /warns: Pods: \d+ ask for a sidecar, and use the network of their node \(\S+\/\S+[,)]/,
        );
        expect(code).to.equal(1);
      } finally {
        await cluster().api.delete(`${apps(own)}/${name}`);
      }
    });

    it("says with --back which annotations are not obeyed any more", async () => {
      const namespace = await cluster().createNamespace();
      await cluster().putFeatureFlag(
        namespace,
        "flags",
        { flags: {} },
        { annotations: { "bunting.dev/readers": "x" } },
      );
      const { out } = await operator("migrate", "check", "--back", "-o", "json");
      const { findings } = JSON.parse(out) as { readonly findings: readonly { readonly object: string }[] };
      expect(findings.filter((one) => one.object.includes(namespace))).to.deep.equal([
        {
          severity: "warns",
          object: `FeatureFlag ${namespace}/flags`,
          message: "its annotation bunting.dev/readers is not obeyed any more: every namespace may use it",
        },
      ]);
      const elsewhere = await operator("explain", "pod", "a/b", "--back");
      expect(elsewhere.err).to.contain("--back belongs to: bunting operator migrate check");
    });
  });
});

function sourcesOf(flag: string): readonly string[] {
  const source = { uri: "proxy:8015", provider: "grpc", selector: `core.openfeature.dev/${flag}` };
  return ["start", "--sources", JSON.stringify([source])];
}
