import path from "node:path";
import { expect } from "chai";
import { operatorChartFolder } from "../helm/support/chart.js";
import { skipWithout } from "../helm/support/tool.js";
import { eventually } from "../support/event-queue.js";
import { installOperator, uninstallOperator, untilSourcesAreAwaited } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { bareTemplate } from "./support/workload.js";

interface RunningPod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly initContainers?: readonly { readonly restartPolicy?: string }[] };
  readonly status: { readonly podIP?: string };
}

describe("the operator in place of the open-feature-operator, on a real node", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  let namespace: string;
  let version = 1;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    await installOperator(node(), `--values=${path.join(operatorChartFolder, "values-takeover.yaml")}`);
    await untilSourcesAreAwaited(node(), namespace);
  });
  after(() => uninstallOperator(node()));

  const put = (kind: string, name: string, spec: object): Promise<unknown> =>
    node().cluster.api.apply(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`,
      { apiVersion: "core.openfeature.dev/v1beta1", kind, metadata: { name, namespace }, spec },
    );

  const deploymentOf = (name: string, annotations: object = {}): object => {
    const labels = { app: name };
    const { metadata, spec } = bareTemplate(name) as {
      readonly metadata: { readonly annotations: object };
      readonly spec: object;
    };
    const template = {
      metadata: { labels, annotations: { ...metadata.annotations, ...annotations } },
      spec,
    };
    return {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace } },
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    };
  };

  const rolledOut = (name: string): Promise<string> =>
    node().kubectl(["-n", namespace, "rollout", "status", `deployment/${name}`, "--timeout=90s"]);

  async function podsOf(name: string): Promise<readonly RunningPod[]> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${name}`;
    return (await node().cluster.api.list(path)).items as unknown as RunningPod[];
  }

  /** The answer of flagd's oldest API, as JSON over HTTP/1.1. */
  async function resolved(host: string): Promise<unknown> {
    const response = await fetch(`http://${host}:8013/schema.v1.Service/ResolveInt`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ flagKey: versionFlag, context: {} }),
    });
    return response.json();
  }

  const untilResolves = (host: string): Promise<void> =>
    eventually(
      async () => {
        const answer = (await resolved(host).catch(() => ({}))) as { readonly value?: string };
        return answer.value === String(version);
      },
      `${host} answers with ${version}`,
      60_000,
    );

  for (const provider of ["flagd-proxy", "file", "kubernetes"]) {
    it(`has Pods wait for their FeatureFlagSource, and start with the flags of the provider ${provider}`, async () => {
      const name = `by-${provider}`;
      await node().apply(deploymentOf(name));
      const isRefused = async (): Promise<boolean> => {
        const { items } = await node().cluster.api.list(`/api/v1/namespaces/${namespace}/events`);
        return items.some(({ message }) =>
          String(message).includes(`no FeatureFlagSource ${namespace}/${name}`),
        );
      };
      await eventually(isRefused, "an event says what the Pod waits for", 60_000);
      expect(await podsOf(name)).to.deep.equal([]);
      await put("FeatureFlagSource", name, { sources: [{ source: "flags", provider }] });
      await rolledOut(name);
      const [pod] = await podsOf(name);
      expect(pod?.spec.initContainers?.map(({ restartPolicy }) => restartPolicy)).to.deep.equal(["Always"]);
      expect(pod?.metadata.annotations?.["openfeature.dev/allowkubernetessync"]).to.equal(
        provider === "kubernetes" ? "true" : undefined,
      );
      const host = pod?.status.podIP ?? "";
      await untilResolves(host);
      expect(await resolved(host)).to.deep.equal({
        ...{ value: String(version), reason: "STATIC", variant: "v", metadata: {} },
      });
    });
  }

  it("shows each of them an edit", async () => {
    await editVersion(node().cluster, namespace, "flags", ++version);
    for (const provider of ["flagd-proxy", "kubernetes"]) {
      const [pod] = await podsOf(`by-${provider}`);
      await untilResolves(pod?.status.podIP ?? "");
    }
  });

  it("leaves Pods alone that are not enabled", async () => {
    await node().apply(deploymentOf("plain", { "openfeature.dev/enabled": "false" }));
    await rolledOut("plain");
    const [pod] = await podsOf("plain");
    expect(pod?.spec.initContainers).to.equal(undefined);
  });

  it("deploys a Flagd whose replicas all become ready, and answer by its Service", async () => {
    await put("Flagd", "alone", {
      ...{ replicas: 2, serviceAccountName: "default", featureFlagSource: "by-kubernetes" },
    });
    const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/alone`;
    const isReady = async (): Promise<boolean> => {
      const { status, text } = await node().cluster.api.request("GET", deployment);
      return status === 200 && text.includes('"readyReplicas":2');
    };
    await eventually(isReady, "both replicas are ready", 90_000);
    const service = await node().cluster.api.get(`/api/v1/namespaces/${namespace}/services/alone`);
    await untilResolves((service["spec"] as { readonly clusterIP: string }).clusterIP);
  });
});
