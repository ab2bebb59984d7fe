import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { asking, OperatorHome } from "./support/operator-home.js";
import { TestPolicies } from "./support/test-policies.js";
import { freshCluster } from "./support/use-cluster.js";

interface Pod extends ApiObject {
  readonly spec: {
    readonly initContainers?: readonly {
      readonly name: string;
      readonly resources: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
}

/** What the containers of the application ask for: everything that a quota may count. */
const modest = { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "100m", memory: "64Mi" } };

describe("Pods of a Deployment in a namespace with a ResourceQuota", function () {
  this.timeout(120_000);
  const cluster = freshCluster({
    controllerManager: true,
    controllers: ["deployment-controller", "replicaset-controller", "resourcequota-controller"],
  });
  let home: OperatorHome;
  let policies: TestPolicies;
  let names = 0;

  before("the operator runs", async () => {
    home = await OperatorHome.create(cluster(), []);
    const operator = home.start("operator-1");
    await operator.leads();
    policies = new TestPolicies(cluster());
    await policies.install("inject.yaml", home.account.user);
    await home.put("FeatureFlagSource", "app", source());
    await home.registerWebhooks(await operator.webhookPort());
  });
  after(() => home.stop());

  const source = (more: object = {}): object => ({
    sources: [{ source: "flags", provider: "flagd-proxy" }],
    ...more,
  });

  /** A namespace of such a quota, with a FeatureFlagSource `app`. */
  async function namespaceWith(
    hard: Readonly<Record<string, string>>,
    more: object = {},
    way: "policy" | "webhook" = "webhook",
  ): Promise<string> {
    const namespace = await (way === "policy" ? policies : cluster()).createNamespace();
    await cluster().api.apply(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources/app`,
      {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name: "app", namespace },
        spec: source(more),
      },
    );
    await eventually(async () => {
      const path = `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections/bunting`;
      return (await cluster().api.request("GET", path)).status === 200;
    }, "it is compiled");
    await eventually(async () => {
      const body = {
        metadata: { name: "probe", annotations: asking },
        spec: { containers: [{ name: "app", image: "registry.example/app" }] },
      };
      const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
      return (await cluster().api.request("POST", path, { body })).text.includes(`"${way} `);
    }, `Pods are injected by the ${way}`);
    const quota = `/api/v1/namespaces/${namespace}/resourcequotas/quota`;
    await cluster().api.apply(quota, {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "quota", namespace },
      spec: { hard },
    });
    await eventually(
      async () => JSON.stringify((await cluster().api.get(quota))["status"] ?? {}).includes("used"),
      "counted",
    );
    return namespace;
  }

  async function deploy(namespace: string, resources: object = modest): Promise<void> {
    const name = `app-${names++}`;
    const labels = { app: name };
    await cluster().api.apply(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations: asking },
          spec: { containers: [{ name: "app", image: "registry.example/app", resources }] },
        },
      },
    });
  }

  /** What `kubectl describe` shows of the ReplicaSet that can't make its Pods. */
  async function refusal(namespace: string): Promise<string> {
    let found = "";
    await eventually(async () => {
      const { items } = await cluster().api.list(`/api/v1/namespaces/${namespace}/events`);
      const event = items.find(({ reason }) => reason === "FailedCreate");
      found = (event?.["message"] as string | undefined) ?? "";
      return found !== "";
    }, "an event of the ReplicaSet says why there is no Pod");
    return found;
  }

  async function sidecar(namespace: string): Promise<NonNullable<Pod["spec"]["initContainers"]>[number]> {
    let found: Pod | undefined;
    await eventually(async () => {
      const { items } = await cluster().api.list(`/api/v1/namespaces/${namespace}/pods`);
      found = items[0] as Pod | undefined;
      return found !== undefined;
    }, "there is a Pod");
    const [container] = found?.spec.initContainers ?? [];
    if (container === undefined) throw new Error("the Pod has no sidecar");
    return container;
  }

  it("are made where it counts Pods, requests and limits of memory: the sidecar has them", async () => {
    const hard = { pods: "5", "requests.cpu": "1", "requests.memory": "1Gi", "limits.memory": "1Gi" };
    const namespace = await namespaceWith(hard);
    await deploy(namespace);
    expect((await sidecar(namespace)).resources.limits).to.deep.equal({ memory: "64Mi" });
  });

  it("are refused where it counts limits of CPU, and the event names the sidecar and what it lacks", async () => {
    const namespace = await namespaceWith({ "limits.cpu": "2" });
    await deploy(namespace);
    expect(await refusal(namespace)).to.contain("must specify limits.cpu for: flagd");
  });

  it("are made there with the limits of the FeatureFlagSource, which has to have all that are counted", async () => {
    const hard = { "limits.cpu": "2", "limits.memory": "1Gi" };
    const short = await namespaceWith(hard, { resources: { limits: { cpu: "200m" } } });
    await deploy(short);
    expect(await refusal(short)).to.contain("must specify limits.memory for: flagd");
    const limits = { cpu: "200m", memory: "64Mi" };
    const whole = await namespaceWith(hard, { resources: { limits } });
    await deploy(whole);
    expect((await sidecar(whole)).resources.limits).to.deep.equal(limits);
  });

  for (const way of ["webhook", "policy"] as const)
    it(`are made there with the defaults of a LimitRange, which count for sidecars of the ${way} as well`, async () => {
      const namespace = await namespaceWith({ "limits.cpu": "2" }, {}, way);
      await cluster().api.apply(`/api/v1/namespaces/${namespace}/limitranges/range`, {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "range", namespace },
        spec: { limits: [{ type: "Container", default: { cpu: "300m" } }] },
      });
      await deploy(namespace);
      expect((await sidecar(namespace)).resources.limits).to.deep.equal({ cpu: "300m", memory: "64Mi" });
    });

  it("of the class Guaranteed are made, as the sidecar has limits like theirs", async () => {
    const namespace = await namespaceWith({ "limits.cpu": "2", "limits.memory": "1Gi" });
    const both = { cpu: "100m", memory: "64Mi" };
    await deploy(namespace, { requests: both, limits: both });
    expect((await sidecar(namespace)).resources.limits).to.deep.equal({ cpu: "20m", memory: "64Mi" });
  });

  it("are refused where it is used up by what the sidecar takes, and the event says how much that is", async () => {
    const namespace = await namespaceWith({ "requests.memory": "32Mi" });
    await deploy(namespace);
    expect(await refusal(namespace)).to.contain("exceeded quota: quota, requested: requests.memory=48Mi");
  });
});
