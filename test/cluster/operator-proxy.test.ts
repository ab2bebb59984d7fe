import { readFileSync } from "node:fs";
import path from "node:path";
import { featureFlagSourceType } from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import { resourceTypes } from "@bunting/operator/internal/controllers/apply/resource-types.js";
import { ownDeployment } from "@bunting/operator/internal/controllers/own-deployment.js";
import { ProxyController } from "@bunting/operator/internal/controllers/proxy/proxy-controller.js";
import {
  ProxyReadyController,
  type SourceWithStatus,
} from "@bunting/operator/internal/controllers/proxy/proxy-ready-controller.js";
import { ProxyUse } from "@bunting/operator/internal/controllers/proxy/proxy-use.js";
import { proxyWatches } from "@bunting/operator/internal/controllers/proxy/proxy-watches.js";
import type { ProxySettings } from "@bunting/operator/internal/desired/proxy/proxy-settings.js";
import type { SourcePlan } from "@bunting/operator/internal/sources/source-plan.js";
import { expect } from "chai";
import { parse } from "yaml";
import { ManualClock } from "../support/manual-clock.js";
import { eventually } from "../support/event-queue.js";
import { OperatorWorld } from "./support/operator-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const recorded = path.join(
  import.meta.dirname,
  "../fixtures/stock-operator/proxy-objects-managed-fields.json",
);
const root = path.join(import.meta.dirname, "../..");
const { Deployment, Service, PodDisruptionBudget, NetworkPolicy } = resourceTypes;
const pods = { group: "", version: "v1", plural: "pods" };

interface ProxySpec {
  readonly replicas: number;
  readonly template: {
    readonly spec: {
      readonly containers: readonly { readonly image: string; readonly args: readonly string[] }[];
      readonly topologySpreadConstraints: readonly { readonly whenUnsatisfiable: string }[];
      readonly volumes?: readonly { readonly secret: { readonly secretName: string } }[];
    };
  };
}

describe("the operator's proxy on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let world: OperatorWorld;
  let clock: ManualClock;
  let use: ProxyUse;
  let states: string[];
  let controller: ProxyController;

  beforeEach(async () => {
    world = await OperatorWorld.start(cluster());
    clock = new ManualClock();
    use = new ProxyUse("auto");
    states = [];
  });

  afterEach(() => world.stop());

  function settings(change: Partial<ProxySettings> = {}): ProxySettings {
    return {
      namespace: world.namespace,
      image: "registry.example/proxy:2",
      replicas: 3,
      ports: { sync: 8015, management: 8016 },
      debugLogging: false,
      options: {},
      pod: { serviceAccountName: "proxy", labels: {}, annotations: {}, imagePullSecrets: [] },
      tellsAgents: true,
      hasNetworkPolicy: true,
      ...change,
    };
  }

  /** @param stop what the controller alone runs with, so that another one can follow */
  function start(change: Partial<ProxySettings> = {}, stop?: AbortSignal): void {
    const { namespace, connected, events, logger, metrics, signal } = world;
    controller = new ProxyController({
      settings: settings(change),
      use,
      cluster: {
        client: connected.client,
        applier: world.applier(),
        events,
        owner: () => ownDeployment(connected.client, { namespace, name: "operator-1" }, signal),
        subscribers: { count: () => Promise.resolve(0) },
      },
      context: { clock, logger, metrics },
      onState: ({ kind }) => states.push(kind),
    });
    const started = controller;
    for (const watch of proxyWatches(world.watches, namespace, () => started.changed())) world.run(watch);
    world.run({ run: (all) => started.run(stop === undefined ? all : AbortSignal.any([all, stop])) });
  }

  const specOf = (object: KubeObject | undefined): ProxySpec | undefined =>
    (object as { readonly spec?: ProxySpec } | undefined)?.spec;
  const imageOf = (object: KubeObject | undefined): string | undefined =>
    specOf(object)?.template.spec.containers[0]?.image;
  const container = (fields: object): object => ({
    spec: { template: { spec: { containers: [{ name: "flagd-proxy", ...fields }] } } },
  });

  const deployed = (image = "registry.example/proxy:2"): Promise<KubeObject> =>
    world.until(Deployment, "flagd-proxy", (object) => imageOf(object) === image, `${image} is deployed`);

  /** Once the proxy is deployed, and all events of that have been worked on. */
  async function deploy(): Promise<void> {
    start();
    use.set("shop", true);
    await deployed();
    await eventually(
      () => controller.isIdle && states.includes("deploying"),
      "the controller has nothing to do",
    );
  }

  function setStatus(status: object): Promise<unknown> {
    const scope = { type: Deployment, namespace: world.namespace, name: "flagd-proxy" };
    return world.connected.client.patch(scope, "merge", { status }, world.signal, { subresource: "status" });
  }

  async function availableOf({ metadata }: KubeObject): Promise<void> {
    const { generation: observedGeneration } = metadata;
    await setStatus({
      observedGeneration,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
    });
  }

  it("is deployed when something uses it, and belongs to the operator's Deployment", async () => {
    const { client } = world.connected;
    const { namespace } = world;
    const podSpec = { containers: [{ name: "manager", image: "operator:1" }] };
    const labels = { app: "operator" };
    const operator = await client.create(
      { type: Deployment, namespace },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "my-operator", namespace },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
      },
      world.signal,
    );
    const replicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: "my-operator-5d4f",
      uid: "a",
      controller: true,
    };
    const metadata = {
      ...{ name: "operator-1", namespace, labels: { ...labels, "pod-template-hash": "5d4f" } },
      ownerReferences: [replicaSet],
    };
    await client.create(
      { type: pods, namespace },
      { apiVersion: "v1", kind: "Pod", metadata, spec: { ...podSpec, serviceAccountName: "default" } },
      world.signal,
    );
    start();
    use.complete();
    expect(await world.find(Deployment, "flagd-proxy")).to.equal(undefined);
    use.set("shop", true);
    const owner = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: "my-operator",
      uid: operator.metadata.uid,
    };
    await deployed();
    for (const [type, name] of [
      [Deployment, "flagd-proxy"],
      [Service, "flagd-proxy-svc"],
      [PodDisruptionBudget, "flagd-proxy-pdb"],
      [NetworkPolicy, "flagd-proxy"],
    ] as const) {
      const object = await world.find(type, name);
      expect(object?.metadata["ownerReferences"], type.plural).to.deep.equal([owner]);
    }
    await eventually(async () => (await world.reasons()).includes("Created"), "an event says so");
  });

  it("has a Secret about Redis while the options name one", async () => {
    const secretsOf = (object: KubeObject | undefined): readonly string[] =>
      (specOf(object)?.template.spec.volumes ?? []).map(({ secret }) => secret.secretName);
    const withSecrets = (names: readonly string[], what: string): Promise<KubeObject> =>
      world.until(
        Deployment,
        "flagd-proxy",
        (object) => JSON.stringify(secretsOf(object)) === JSON.stringify(names),
        what,
      );
    const first = new AbortController();
    start({ redis: { name: "redis", files: ["password", "ca.crt"] } }, first.signal);
    use.set("shop", true);
    const shared = await withSecrets(["flagd-proxy-status", "redis"], "the Secret is there");
    expect(JSON.stringify(shared["spec"])).to.include("BUNTING_BACKPLANE_CA_FILE");
    const open = await world.until(NetworkPolicy, "flagd-proxy", () => true, "the NetworkPolicy is there");
    expect(open["spec"]).to.deep.include({ policyTypes: ["Ingress"] });
    first.abort();
    start();
    const alone = await withSecrets(["flagd-proxy-status"], "the Secret is gone");
    expect(JSON.stringify(alone["spec"])).to.not.include("BUNTING_BACKPLANE");
    await world.until(
      NetworkPolicy,
      "flagd-proxy",
      (object) => JSON.stringify(object["spec"]).includes('"Egress"'),
      "the way out is closed again",
    );
  });

  it("is available when its Deployment is", async () => {
    await deploy();
    await availableOf(await deployed());
    await eventually(() => states.at(-1) === "available", "the state is available");
    const { metadata } = await world.until(
      Deployment,
      "flagd-proxy",
      (object) => object.metadata.annotations?.["bunting.dev/available-image"] !== undefined,
      "the image is remembered",
    );
    expect(metadata.annotations).to.include({ "bunting.dev/available-image": "registry.example/proxy:2" });
  });

  it("is put back when it is edited, deleted, or loses its label", async () => {
    await deploy();
    await world.edit(Deployment, "flagd-proxy", container({ image: "registry.example/other:1" }));
    await deployed();
    await world.connected.client.delete(
      { type: Service, namespace: world.namespace, name: "flagd-proxy-svc" },
      world.signal,
    );
    await world.until(Service, "flagd-proxy-svc", () => true, "the Service is back");
    const labels = { "app.kubernetes.io/managed-by": null };
    await world.edit(PodDisruptionBudget, "flagd-proxy-pdb", { metadata: { labels } });
    await world.until(
      PodDisruptionBudget,
      "flagd-proxy-pdb",
      (object) => object.metadata.labels?.["app.kubernetes.io/managed-by"] === "open-feature-operator",
      "the label is back",
    );
    await eventually(async () => (await world.reasons()).includes("DriftRepaired"), "an event says so");
    expect(world.metrics.drifted.read("Deployment", "kubectl-edit")).to.equal(1);
  });

  const versionLabel = "app.kubernetes.io/version";
  for (const [what, rival] of [
    ["writes it each time", container({ image: "registry.example/rival:1" })],
    ["takes a field out of it each time", { metadata: { labels: { [versionLabel]: null } } }],
  ] as const) {
    it(`is put back five times, and then every half a minute, where somebody else ${what}`, async () => {
      await deploy();
      const isRight = (object: KubeObject): boolean =>
        imageOf(object) === "registry.example/proxy:2" &&
        object.metadata.labels?.[versionLabel] !== undefined;
      const isBack = (): Promise<KubeObject> =>
        world.until(Deployment, "flagd-proxy", isRight, "it is put back");
      for (let i = 0; i < 4; i++) {
        await world.edit(Deployment, "flagd-proxy", rival, "keel");
        await isBack();
      }
      const edited = await world.edit(Deployment, "flagd-proxy", rival, "keel");
      await eventually(() => clock.hasTimerIn(30_000), "it waits");
      expect(isRight(edited)).to.equal(false);
      expect((await world.find(Deployment, "flagd-proxy"))?.metadata.resourceVersion).to.equal(
        edited.metadata.resourceVersion,
      );
      await availableOf(edited);
      await eventually(() => states.at(-1) === "available", "the state is known all the same");
      clock.advance(30_000);
      await isBack();
    });
  }

  it("has its own number of replicas again, and not that of who has restored it from a backup", async () => {
    const first = new AbortController();
    start({}, first.signal);
    use.set("shop", true);
    const { metadata, ...made } = await deployed();
    first.abort();
    const { client } = world.connected;
    const scope = { type: Deployment, namespace: world.namespace };
    await client.delete({ ...scope, name: "flagd-proxy" }, world.signal);
    const { name, namespace, labels, annotations } = metadata;
    const spec = { ...specOf(made as KubeObject), replicas: 7 };
    const restored = {
      ...{ apiVersion: "apps/v1", kind: "Deployment" },
      ...{ metadata: { name, namespace, labels, annotations }, spec },
    };
    await client.create(scope, restored, world.signal, { query: { fieldManager: "velero-server" } });
    start();
    const isOurs = (object: KubeObject): boolean => specOf(object)?.replicas === 3;
    await world.until(Deployment, "flagd-proxy", isOurs, "it has its number of replicas");
  });

  it("comes to rest: its own writes cause no more", async () => {
    await deploy();
    const { resourceVersion } = (await deployed()).metadata;
    const before = world.metrics.reconciled.read("proxy", "succeeded");
    controller.changed();
    await eventually(() => world.metrics.reconciled.read("proxy", "succeeded") > before, "it has run again");
    await eventually(() => controller.isIdle, "it has nothing to do");
    expect((await deployed()).metadata.resourceVersion).to.equal(resourceVersion);
  });

  it("keeps the replicas of an HPA, and what Argo CD applies", async () => {
    await deploy();
    const scope = { type: Deployment, namespace: world.namespace, name: "flagd-proxy" };
    const { client } = world.connected;
    const query = { fieldManager: "kube-controller-manager" };
    await client.patch(scope, "merge", { spec: { replicas: 7 } }, world.signal, {
      subresource: "scale",
      query,
    });
    const argo = {
      ...{ apiVersion: "apps/v1", kind: "Deployment" },
      ...{ metadata: { name: "flagd-proxy", namespace: world.namespace } },
      ...container({ image: "registry.example/argo:1" }),
    };
    await client.apply(scope, argo, { fieldManager: "argocd-controller", force: true }, world.signal);
    await eventually(async () => (await world.reasons()).includes("Overridden"), "an event says so");
    await world.edit(Deployment, "flagd-proxy", container({ args: ["edited"] }));
    const live = await world.until(
      Deployment,
      "flagd-proxy",
      (object) => specOf(object)?.template.spec.containers[0]?.args[0] === "start",
      "the edit is put back",
    );
    expect(imageOf(live)).to.equal("registry.example/argo:1");
    expect(specOf(live)?.replicas).to.equal(7);
  });

  it("leaves a minimum of available Pods to who applies one, and takes back the one of an edit or a backup: Kubernetes takes no second bound beside it", async () => {
    const { client } = world.connected;
    const { namespace } = world;
    const name = "flagd-proxy-pdb";
    const scope = { type: PodDisruptionBudget, namespace, name };
    const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name, namespace } };
    const boundsOf = (object: KubeObject | undefined): readonly unknown[] => {
      const spec = (object as { readonly spec?: Readonly<Record<string, unknown>> } | undefined)?.spec;
      return [spec?.["minAvailable"], spec?.["maxUnavailable"]];
    };
    const has = (min: unknown, max: unknown, what: string): Promise<KubeObject> =>
      world.until(
        PodDisruptionBudget,
        name,
        (object) => String(boundsOf(object)) === String([min, max]),
        what,
      );
    const labels = { "app.kubernetes.io/managed-by": "open-feature-operator" };
    const selector = { matchLabels: { ...labels, "app.kubernetes.io/name": "flagd-proxy" } };
    const restored = {
      ...budget,
      metadata: { name, namespace, labels },
      spec: { minAvailable: 1, selector },
    };
    await client.create({ type: PodDisruptionBudget, namespace }, restored, world.signal, {
      query: { fieldManager: "velero-server" },
    });
    await deploy();
    await has(undefined, "50%", "that of the backup is ours");
    const spec = { minAvailable: 2, maxUnavailable: null };
    await world.edit(PodDisruptionBudget, name, { spec });
    await has(undefined, "50%", "the edit is taken back");
    const { resourceVersion } = (await world.find(PodDisruptionBudget, name))?.metadata ?? {};
    controller.changed();
    await eventually(() => controller.isIdle, "it has nothing to do");
    expect((await world.find(PodDisruptionBudget, name))?.metadata.resourceVersion).to.equal(resourceVersion);
    await client.delete(scope, world.signal);
    const argo = { ...budget, metadata: { name, namespace, labels }, spec: { minAvailable: 2, selector } };
    await client.apply(scope, argo, { fieldManager: "argocd-controller", force: true }, world.signal);
    await world.edit(Deployment, "flagd-proxy", container({ args: ["edited"] }));
    await world.until(
      Deployment,
      "flagd-proxy",
      (object) => specOf(object)?.template.spec.containers[0]?.args[0] === "start",
      "the Deployment is put back",
    );
    expect(boundsOf(await world.find(PodDisruptionBudget, name))).to.deep.equal([2, undefined]);
  });

  it("keeps where its Pods run and what they may use, as docs/operate/operator.md has somebody apply it", async () => {
    await deploy();
    const page = readFileSync(path.join(root, "docs/operate/operator.md"), "utf8");
    const [, text = ""] = /\n### Nodes and resources of the proxy\n[^]*?```yaml\n([^]*?)```/.exec(page) ?? [];
    const { metadata, ...applied } = parse(text) as KubeObject;
    const scope = { type: Deployment, namespace: world.namespace, name: "flagd-proxy" };
    const object = { ...applied, metadata: { ...metadata, namespace: world.namespace } };
    const placed = specOf(object)?.template.spec;
    const { client } = world.connected;
    await client.apply(scope, object, { fieldManager: "kubectl", force: true }, world.signal);
    await world.edit(Deployment, "flagd-proxy", container({ args: ["edited"] }));
    const live = await world.until(
      Deployment,
      "flagd-proxy",
      (each) => specOf(each)?.template.spec.containers[0]?.args[0] === "start",
      "the edit is put back",
    );
    const pod = specOf(live)?.template.spec;
    expect(placed?.containers[0]).to.have.nested.property("resources.limits.cpu");
    expect(pod?.containers[0]).to.deep.include(placed?.containers[0]);
    expect({ ...placed, ...pod }).to.deep.equal(pod);
    expect({ ...pod, ...placed, containers: [] }).to.deep.equal({ ...pod, containers: [] });
  });

  it("leaves objects of its names that are not its own, and makes nothing beside them", async () => {
    const { client } = world.connected;
    const { namespace } = world;
    const metadata = { name: "flagd-proxy-svc", namespace };
    const service = { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ port: 1 }] } };
    const before = await client.create({ type: Service, namespace }, service, world.signal);
    start();
    use.set("shop", true);
    await eventually(() => states.at(-1) === "nameTaken", "the state says so");
    await eventually(async () => (await world.reasons()).includes("NameTaken"), "an event says so");
    const after = await world.find(Service, "flagd-proxy-svc");
    expect(after?.metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
    expect(await world.find(Deployment, "flagd-proxy")).to.equal(undefined);
    await client.delete({ type: Service, namespace, name: "flagd-proxy-svc" }, world.signal);
    await eventually(() => controller.isIdle, "it waits");
    clock.advance(60_000);
    await deployed();
  });

  it("takes over what the open-feature-operator made, and nothing of that is made anew", async () => {
    const { items } = JSON.parse(readFileSync(recorded, "utf8")) as { items: readonly KubeObject[] };
    const { namespace } = world;
    const made = new Map<string, KubeObject>();
    for (const { kind = "", apiVersion, metadata, spec } of items) {
      const { name, labels } = metadata;
      // Addresses are those of another cluster.
      const fields = Object.entries(spec as object).filter(([field]) => !field.startsWith("clusterIP"));
      const object = {
        kind,
        apiVersion,
        metadata: { name, namespace, labels },
        spec: Object.fromEntries(fields),
      };
      const type = resourceTypes[kind as "Deployment"];
      const query = { fieldManager: "manager" };
      const { client } = world.connected;
      made.set(kind, await client.create({ type, namespace }, object, world.signal, { query }));
    }
    await setStatus({
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    });
    start();
    use.set("shop", true);
    const live = await deployed();
    expect(live.metadata.annotations).to.include({
      "bunting.dev/available-image": "ghcr.io/open-feature/flagd-proxy:v0.9.4",
    });
    expect(specOf(live)?.replicas).to.equal(3);
    const spread = specOf(live)?.template.spec.topologySpreadConstraints;
    expect(spread?.map(({ whenUnsatisfiable }) => whenUnsatisfiable)).to.deep.equal(["ScheduleAnyway"]);
    for (const [kind, before] of made) {
      const now = await world.find(resourceTypes[kind as "Deployment"], before.metadata.name);
      expect(now?.metadata.uid, kind).to.equal(before.metadata.uid);
      const managers = now?.metadata["managedFields"] as {
        manager: string;
        operation: string;
        subresource?: string;
      }[];
      const writers = managers.filter(({ subresource }) => subresource === undefined);
      expect(
        writers.map(({ manager, operation }) => `${manager} ${operation}`),
        kind,
      ).to.deep.equal(["bunting-operator Apply"]);
    }
    await eventually(async () => (await world.reasons()).includes("Adopted"), "an event says so");
  });

  it("goes back to the image that was available when the next one does not become so", async () => {
    const stop = new AbortController();
    start({ image: "registry.example/proxy:1" }, stop.signal);
    use.set("shop", true);
    await availableOf(await deployed("registry.example/proxy:1"));
    await eventually(() => states.at(-1) === "available", "the first one is available");
    stop.abort();
    start();
    const { metadata } = await deployed();
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    await setStatus({ observedGeneration: metadata.generation, replicas: 4, updatedReplicas: 1, conditions });
    await deployed("registry.example/proxy:1");
    await eventually(() => states.at(-1) === "degraded", "the state says so");
    await eventually(async () => (await world.reasons()).includes("RolledBack"), "an event says so");
    await eventually(() => controller.isIdle, "all events of that have been worked on");
    const annotations = { "bunting.dev/refused-image": null };
    await world.edit(Deployment, "flagd-proxy", { metadata: { annotations } });
    await deployed();
  });

  it("is said to be ready by the sources that use it, beside what others say of them", async () => {
    const { namespace, connected, logger, metrics, signal } = world;
    const { client } = connected;
    const scope = { type: featureFlagSourceType, namespace, name: "a" };
    const metadata = { namespace, name: "a" };
    const source = { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlagSource", metadata };
    const spec = { sources: [{ source: "a", provider: "flagd-proxy" }] };
    await client.apply(scope, { ...source, spec }, { fieldManager: "kubectl" }, signal);
    const accepted = {
      ...{ type: "Accepted", status: "True", reason: "Accepted", message: "It is." },
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const others = { ...source, status: { conditions: [accepted] } };
    await client.apply(scope, others, { fieldManager: "others", subresource: "status" }, signal);
    const watch = world.watches.inform<SourceWithStatus & KubeObject>(
      { type: featureFlagSourceType, namespace },
      {
        transform: (object) => object as SourceWithStatus & KubeObject,
        handler: { changed: () => undefined },
      },
    );
    world.run(watch);
    await watch.informer.whenSynced;
    const ready = new ProxyReadyController({
      client,
      source: (key) => watch.informer.store.get(key),
      context: { clock, logger, metrics },
    });
    world.run(ready);
    const said = (reasons: string): Promise<KubeObject> =>
      world.until(
        featureFlagSourceType,
        "a",
        (object) => {
          const { conditions = [] } = (object as SourceWithStatus).status ?? {};
          return conditions.map(({ type, reason }) => `${type} ${reason}`).join() === reasons;
        },
        `the conditions are ${reasons}`,
      );
    ready.entered({ kind: "available" });
    ready.compiled(`${namespace}/a`, { sources: [{ way: "proxy" }] } as unknown as SourcePlan);
    await said("Accepted Accepted,ProxyReady Available");
    await eventually(
      () => watch.informer.store.get(`${namespace}/a`)?.status?.conditions?.length === 2,
      "the watch has brought it",
    );
    ready.compiled(`${namespace}/a`, undefined);
    await eventually(() => clock.pendingTimers > 0, "it pauses");
    clock.advance(10_000);
    await said("Accepted Accepted");
  });

  it("is removed ten minutes after its last use", async () => {
    await deploy();
    use.complete();
    use.set("shop", false);
    await eventually(() => controller.isIdle, "it waits");
    clock.advance(599_999);
    await eventually(() => controller.isIdle, "it waits on");
    expect(await world.find(Deployment, "flagd-proxy")).to.not.equal(undefined);
    clock.advance(1);
    for (const [type, name] of [
      [Deployment, "flagd-proxy"],
      [Service, "flagd-proxy-svc"],
      [PodDisruptionBudget, "flagd-proxy-pdb"],
      [NetworkPolicy, "flagd-proxy"],
    ] as const)
      await world.untilGone(type, name);
    await eventually(() => states.at(-1) === "absent", "the state says so");
  });
});
