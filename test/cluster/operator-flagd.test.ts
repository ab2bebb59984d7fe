import { featureFlagSourceType, flagdType, type FeatureFlagSource } from "@bunting/featureflags/resources";
import { Discovery, type KubeObject } from "@bunting/kube";
import { resourceTypes } from "@bunting/operator/internal/controllers/apply/resource-types.js";
import {
  FlagdController,
  type FlagdSources,
} from "@bunting/operator/internal/controllers/flagd/flagd-controller.js";
import type { FlagdSettings } from "@bunting/operator/internal/desired/flagd/flagd-settings.js";
import { UnservedFlagds } from "@bunting/operator/internal/controllers/flagd/unserved-flagds.js";
import { Signal, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { ManualClock } from "../support/manual-clock.js";
import { OperatorWorld } from "./support/operator-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const { Deployment, Service, HorizontalPodAutoscaler, Ingress, HTTPRoute } = resourceTypes;
const customResources = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
const name = "flagd-sample";

/** A type of that name, without the rules of the real one. */
const routeDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "httproutes.gateway.networking.k8s.io",
    annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
  },
  spec: {
    group: HTTPRoute.group,
    scope: "Namespaced",
    names: { kind: "HTTPRoute", plural: "httproutes", singular: "httproute" },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

interface Container {
  readonly image: string;
  readonly args: readonly string[];
}

describe("Flagds on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  const settings: FlagdSettings = {
    image: "registry.example/flagd:v7",
    ports: { evaluation: 8013, ofrep: 8016, sync: 8015, management: 8014 },
    resources: {},
    pod: { labels: {}, annotations: {}, imagePullSecrets: [] },
  };
  let world: OperatorWorld;
  let clock: ManualClock;
  let controller: FlagdController;
  /** Ends the controllers that were started. */
  let served: AbortController;

  beforeEach(async () => {
    world = await OperatorWorld.start(cluster());
    clock = new ManualClock();
    served = new AbortController();
    start();
  });

  afterEach(() => world.stop());

  /** FeatureFlagSources as the API server has them. */
  function watchedSources(): FlagdSources {
    const changed = new Signal<string>();
    const watch = world.watches.inform(
      { type: featureFlagSourceType, namespace: world.namespace },
      { handler: { changed: () => changed.emit(world.namespace) } },
    );
    world.run(watch);
    const { store, whenSynced } = watch.informer;
    return {
      whenSynced,
      listen: (listener) => changed.listen((namespace) => listener(namespace, namespace)),
      beginInputs: () => undefined,
      inputs: (namespace) => ({
        namespace: { name: namespace, annotations: {} },
        catalogue: {
          featureFlagSource: (key) => store.get(key) as unknown as FeatureFlagSource | undefined,
          inProcessConfiguration: () => undefined,
          flagReaders: () => undefined,
        },
        rules: {
          namespace,
          proxyAddress: "proxy:8015",
          providerKubernetes: "proxy",
          crossNamespace: "deny",
          defaults: {},
          inProcessDefaults: {},
        },
      }),
    };
  }

  function start(): void {
    const { connected, events, watches, logger, metrics } = world;
    controller = new FlagdController({
      settings,
      sources: watchedSources(),
      watches,
      cluster: {
        client: connected.client,
        applier: world.applier(),
        events,
        discovery: new Discovery({ client: connected.client, clock: systemClock, ttlMs: 0 }),
      },
      context: { clock, logger, metrics },
    });
    const until = served.signal;
    world.run({ run: (all) => controller.run(AbortSignal.any([all, until])) });
  }

  const put = (
    type: typeof flagdType | typeof featureFlagSourceType,
    kind: string,
    object: string,
    spec: object,
  ) =>
    world.connected.client.apply(
      { type, namespace: world.namespace, name: object },
      {
        apiVersion: "core.openfeature.dev/v1beta1",
        ...{ kind, metadata: { name: object, namespace: world.namespace }, spec },
      },
      { fieldManager: "kubectl", force: true },
      world.signal,
    );

  const putSource = (spec: object = {}): Promise<KubeObject> =>
    put(featureFlagSourceType, "FeatureFlagSource", "end-to-end", {
      sources: [{ source: "featureflag-sample", provider: "kubernetes" }],
      ...spec,
    });

  const putFlagd = (spec: object = {}): Promise<KubeObject> =>
    put(flagdType, "Flagd", name, {
      featureFlagSource: "end-to-end",
      serviceAccountName: "default",
      ...spec,
    });

  const containerOf = (object: KubeObject): Container | undefined =>
    (object as { spec?: { template: { spec: { containers: Container[] } } } }).spec?.template.spec
      .containers[0];

  const deployed = (isSo: (object: KubeObject) => boolean = () => true): Promise<KubeObject> =>
    world.until(Deployment, name, isSo, "the Deployment is as it should be");

  const conditionOf = (
    object: KubeObject,
    type: string,
  ): { status: string; reason: string; message: string } | undefined =>
    (
      object as {
        status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
      }
    ).status?.conditions?.find((condition) => condition.type === type);

  const replicasOf = (object: KubeObject): number | undefined =>
    (object as { spec?: { replicas?: number } }).spec?.replicas;

  /** Of events with this reason. */
  async function notes(reason: string): Promise<readonly string[]> {
    const { items } = await world.cluster.api.list(
      `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`,
    );
    return items.filter((event) => event["reason"] === reason).map((event) => String(event["note"]));
  }

  /** Statuses are written some time after each other. */
  async function untilCondition(type: string, status: string, reason: string): Promise<string> {
    const flagd = await world.until(
      flagdType,
      name,
      (object) => {
        const condition = conditionOf(object, type);
        const isSo = condition?.status === status && condition.reason === reason;
        if (!isSo) clock.advance(10_000);
        return isSo;
      },
      `${type} is ${status} because of ${reason}`,
    );
    return conditionOf(flagd, type)?.message ?? "";
  }

  it("get a Deployment and a Service that belong to them, with the ports and variables that upstream's suite asserts", async () => {
    await putSource({ port: 8888, managementPort: 9999, evaluator: "json" });
    const { metadata } = await putFlagd();
    const deployment = await deployed();
    const service = await world.until(Service, name, () => true, "there is a Service");
    const owner = { apiVersion: "core.openfeature.dev/v1beta1", kind: "Flagd", name, uid: metadata.uid };
    for (const made of [deployment, service]) {
      expect(made.metadata["ownerReferences"]).to.deep.equal([owner]);
      expect(made.metadata.labels).to.include({
        app: name,
        "app.kubernetes.io/managed-by": "open-feature-operator",
        "app.kubernetes.io/name": name,
      });
    }
    expect(containerOf(deployment)).to.deep.include({
      ports: [
        { containerPort: 8014, name: "management", protocol: "TCP" },
        { containerPort: 8013, name: "flagd", protocol: "TCP" },
        { containerPort: 8016, name: "ofrep", protocol: "TCP" },
        { containerPort: 8015, name: "sync", protocol: "TCP" },
      ],
      env: [
        { name: "FLAGD_MANAGEMENT_PORT", value: "9999" },
        { name: "FLAGD_PORT", value: "8888" },
        { name: "FLAGD_EVALUATOR", value: "json" },
        { name: "FLAGD_LOG_FORMAT", value: "json" },
        { name: "FLAGD_RESOLVER", value: "rpc" },
      ],
    });
    expect(deployment).to.have.nested.property("spec.replicas", 1);
    expect(deployment).to.have.nested.property("spec.template.spec.serviceAccount", "default");
    const ports = (
      service as unknown as { spec: { ports: { name: string; port: number; targetPort: number }[] } }
    ).spec.ports;
    expect(ports.map((port) => [port.name, port.port, port.targetPort])).to.deep.equal([
      ["flagd", 8013, 8013],
      ["ofrep", 8016, 8016],
      ["sync", 8015, 8015],
      ["metrics", 8014, 8014],
    ]);
    await untilCondition("Progressing", "True", "Deploying");
    await untilCondition("Available", "False", "NoReplicas");
  });

  it("are of the namespace's own ServiceAccount again when they name none any more", async () => {
    const accountsOf = (object: KubeObject): readonly (string | undefined)[] => {
      const { template } = object["spec"] as { template: { spec: Readonly<Record<string, string>> } };
      return [template.spec["serviceAccountName"], template.spec["serviceAccount"]];
    };
    await putSource();
    await putFlagd({ serviceAccountName: "reader" });
    await deployed((object) => accountsOf(object).join() === "reader,reader");
    await putFlagd({ serviceAccountName: undefined });
    const { metadata } = await deployed((object) => accountsOf(object).every((name) => name === undefined));
    // Nothing of the template is changed by what API servers do not store.
    await putFlagd({ serviceAccountName: "" });
    await putFlagd({ replicas: 0 });
    await deployed((object) => replicasOf(object) === 0);
    expect((await deployed()).metadata.generation).to.equal(Number(metadata.generation) + 1);
  });

  it("follow their FeatureFlagSource, also one that comes later", async () => {
    await putFlagd();
    expect(await untilCondition("Progressing", "False", "NotFound")).to.contain("end-to-end");
    await putSource();
    await deployed();
    await putSource({ debugLogging: true });
    await deployed((object) => containerOf(object)?.args.includes("--debug") === true);
  });

  it("keep what they have while their FeatureFlagSource can't be used", async () => {
    await putSource();
    await putFlagd();
    const { metadata } = await deployed();
    await putFlagd({ featureFlagSource: "gone" });
    await untilCondition("Progressing", "False", "NotFound");
    expect((await deployed()).metadata.resourceVersion).to.equal(metadata.resourceVersion);
    await eventually(async () => (await world.reasons()).includes("NotFound"), "an event says so");
  });

  it("are available when their Deployment is", async () => {
    await putSource();
    await putFlagd();
    const { generation } = (await deployed()).metadata;
    const status = {
      observedGeneration: generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    };
    const scope = { type: Deployment, namespace: world.namespace, name };
    await world.connected.client.patch(scope, "merge", { status }, world.signal, { subresource: "status" });
    await untilCondition("Available", "True", "Available");
    await untilCondition("Progressing", "True", "Complete");
  });

  it("are put back when they are edited or deleted", async () => {
    await putSource();
    await putFlagd();
    await deployed();
    const template = { spec: { containers: [{ name: "flagd", image: "registry.example/other:1" }] } };
    await world.edit(Deployment, name, { spec: { template } });
    await deployed((object) => containerOf(object)?.image === settings.image);
    const before = await world.until(Service, name, () => true, "there is a Service");
    await world.connected.client.delete({ type: Service, namespace: world.namespace, name }, world.signal);
    await world.until(
      Service,
      name,
      ({ metadata }) => metadata.uid !== before.metadata.uid,
      "it is made again",
    );
  });

  it("have the replicas that they ask for: what kubectl scale or an edit sets is put back, and an event says by whom", async () => {
    await putSource();
    await putFlagd({ replicas: 2 });
    await deployed((object) => replicasOf(object) === 2);
    await world.cluster.kubectl(["-n", world.namespace, "scale", "deployment", name, "--replicas=7"]);
    await eventually(
      async () => (await notes("DriftRepaired")).some((each) => each.includes("(kubectl)")),
      "told",
    );
    await deployed((object) => replicasOf(object) === 2);
    await world.edit(Deployment, name, { spec: { replicas: 5 } }, "their-tool");
    await eventually(
      async () => (await notes("DriftRepaired")).some((each) => each.includes("(their-tool)")),
      "told",
    );
    await deployed((object) => replicasOf(object) === 2);
    expect((await notes("DriftRepaired")).every((each) => each.includes("Change the Flagd"))).to.equal(true);
  });

  it("leave the replicas to an autoscaler, and an event says so, until they ask for another number", async () => {
    await putSource();
    await putFlagd({ replicas: 2 });
    await deployed((object) => replicasOf(object) === 2);
    const scope = { type: Deployment, namespace: world.namespace, name };
    const query = { fieldManager: "kube-controller-manager" };
    const scale = (replicas: number): Promise<KubeObject> =>
      world.connected.client.patch(scope, "merge", { spec: { replicas } }, world.signal, {
        subresource: "scale",
        query,
      });
    await scale(6);
    await eventually(async () => {
      const said = await notes("ScaledByOthers");
      return said.some((each) => each.includes("kube-controller-manager"));
    }, "an event says who scales");
    await putSource({ debugLogging: true });
    const after = await deployed((object) => containerOf(object)?.args.includes("--debug") === true);
    expect(replicasOf(after)).to.equal(6);
    await putFlagd({ replicas: 3 });
    await deployed((object) => replicasOf(object) === 3);
    await scale(4);
    await putSource();
    const last = await deployed((object) => containerOf(object)?.args.includes("--debug") === false);
    expect(replicasOf(last), "it scales again").to.equal(4);
  });

  it("have an autoscaler while they ask for one, and what it has decided stays when its bounds change", async () => {
    await putSource();
    await putFlagd({ replicas: 2 });
    await deployed((object) => replicasOf(object) === 2);
    await putFlagd({ replicas: 2, autoscaling: { maxReplicas: 6 } });
    const scaler = await world.until(HorizontalPodAutoscaler, name, () => true, "there is an autoscaler");
    expect(scaler).to.have.nested.property("spec.scaleTargetRef.name", name);
    expect(scaler).to.have.nested.property("spec.minReplicas", 1);
    await deployed(({ metadata }) => metadata.annotations?.["bunting.dev/replicas"] === "autoscaled");
    const scope = { type: Deployment, namespace: world.namespace, name };
    const query = { fieldManager: "kube-controller-manager" };
    await world.connected.client.patch(scope, "merge", { spec: { replicas: 5 } }, world.signal, {
      subresource: "scale",
      query,
    });
    await putFlagd({ replicas: 2, autoscaling: { minReplicas: 3, maxReplicas: 7 } });
    const raised = (object: KubeObject): boolean =>
      (object as { spec?: { minReplicas?: number } }).spec?.minReplicas === 3;
    await world.until(HorizontalPodAutoscaler, name, raised, "the bounds are raised");
    await putSource({ debugLogging: true });
    const after = await deployed((object) => containerOf(object)?.args.includes("--debug") === true);
    expect(replicasOf(after)).to.equal(5);
    await putFlagd({ replicas: 2 });
    await world.untilGone(HorizontalPodAutoscaler, name);
    await deployed((object) => replicasOf(object) === 2);
  });

  it("have Pods as their podTemplate says, and say so if the API server refuses it", async () => {
    await putSource();
    const podTemplate = {
      labels: { team: "flags" },
      nodeSelector: { pool: "system" },
      tolerations: [{ key: "system", operator: "Exists" }],
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
    };
    await putFlagd({ podTemplate, serviceAnnotations: { "example.org/lb": "internal" } });
    const { spec } = (await deployed()) as unknown as {
      readonly spec: { readonly template: { readonly spec: object; readonly metadata: object } };
    };
    expect(spec.template.metadata).to.have.nested.property("labels.team", "flags");
    const { nodeSelector, tolerations } = podTemplate;
    expect(spec.template.spec).to.deep.include({ nodeSelector, tolerations });
    const isAnnotated = ({ metadata }: KubeObject): boolean =>
      metadata.annotations?.["example.org/lb"] === "internal";
    await world.until(Service, name, isAnnotated, "the Service has its annotation");
    await putFlagd({ podTemplate: { tolerations: [{ operator: "Never" }] } });
    expect(await untilCondition("Progressing", "False", "ApplyFailed")).to.include("tolerations");
  });

  it("get an Ingress while it is enabled", async () => {
    await putSource();
    const ingress = { enabled: true, hosts: [name], ingressClassName: "nginx" };
    await putFlagd({ ingress });
    const made = await world.until(Ingress, name, () => true, "there is an Ingress");
    expect(made).to.have.nested.property("spec.ingressClassName", "nginx");
    expect(made).to.have.nested.property("spec.rules[0].http.paths").with.lengthOf(3);
    await putFlagd({ ingress: { ...ingress, enabled: false } });
    await world.untilGone(Ingress, name);
    expect(await world.find(Service, name)).to.not.equal(undefined);
  });

  it("get an HTTPRoute where the cluster serves that, and say so where it does not", async () => {
    const { client } = world.connected;
    const scope = { type: customResources, name: routeDefinition.metadata.name };
    await putSource();
    const gatewayApiRoutes = { enabled: true, hosts: [name], parentRefs: [{ name: "gateway" }] };
    await putFlagd({ gatewayApiRoutes });
    await deployed();
    expect(await untilCondition("Progressing", "True", "RoutesNotServed")).to.contain("Gateway API");
    await client.create({ type: customResources }, routeDefinition, world.signal);
    try {
      const route = await world.until(
        HTTPRoute,
        name,
        () => true,
        "there is an HTTPRoute",
        () => clock.advance(60_000),
      );
      expect(route).to.have.nested.property("spec.hostnames[0]", name);
      await eventually(() => controller.isIdle, "there is nothing to do");
      const before = world.metrics.reconciled.read("flagd", "succeeded");
      let touches = 0;
      await eventually(async () => {
        const body = { metadata: { annotations: { touched: String(touches++) } } };
        const scopeOfRoute = { type: HTTPRoute, namespace: world.namespace, name };
        await client.patch(scopeOfRoute, "merge", body, world.signal);
        return world.metrics.reconciled.read("flagd", "succeeded") > before;
      }, "HTTPRoutes are watched");
      await client.delete({ type: HTTPRoute, namespace: world.namespace, name }, world.signal);
      await world.until(
        HTTPRoute,
        name,
        ({ metadata }) => metadata.uid !== route.metadata.uid,
        "it is made again",
        // A look that failed is repeated after a while.
        () => clock.advance(1_000),
      );
      await putFlagd({ gatewayApiRoutes: { ...gatewayApiRoutes, enabled: false } });
      await world.untilGone(HTTPRoute, name);
    } finally {
      await client.delete(scope, world.signal);
    }
  });

  it("leave objects of their name that are not theirs", async () => {
    const metadata = { name, namespace: world.namespace };
    const service = { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ port: 1 }] } };
    const scope = { type: Service, namespace: world.namespace };
    const before = await world.connected.client.create(scope, service, world.signal);
    await putSource();
    await putFlagd();
    expect(await untilCondition("Progressing", "True", "NameTaken")).to.contain(
      `The Service ${world.namespace}/${name}`,
    );
    expect((await world.find(Service, name))?.metadata.resourceVersion).to.equal(
      before.metadata.resourceVersion,
    );
  });

  it("are put back five times, and then every half a minute, where somebody else writes them each time, and follow their Flagd at once", async () => {
    const rival = { spec: { template: { spec: { containers: [{ name: "flagd", image: "rival:1" }] } } } };
    const isRight = (object: KubeObject): boolean => containerOf(object)?.image === settings.image;
    await putSource();
    await putFlagd();
    await world.until(Service, name, () => true, "there is a Service");
    for (let i = 0; i < 4; i++) {
      await world.edit(Deployment, name, rival, "keel");
      await deployed(isRight);
    }
    await world.edit(Deployment, name, rival, "keel");
    await eventually(() => clock.hasTimerIn(30_000), "it waits");
    expect(isRight(await deployed())).to.equal(false);
    await putFlagd({ replicas: 2 });
    await deployed((object) => isRight(object) && replicasOf(object) === 2);
    for (let i = 0; i < 4; i++) {
      await world.edit(Deployment, name, rival, "keel");
      await deployed(isRight);
    }
    await world.edit(Deployment, name, rival, "keel");
    await eventually(() => clock.hasTimerIn(30_000), "it waits again");
    clock.advance(30_000);
    await deployed(isRight);
  });

  it("have the objects again that were restored from a backup, which belong to nobody", async () => {
    await putSource();
    await putFlagd();
    await deployed();
    await world.until(Service, name, () => true, "there is a Service");
    served.abort();
    const { client } = world.connected;
    const { namespace } = world;
    const kinds = [
      [Deployment, "apps/v1", "Deployment"],
      [Service, "v1", "Service"],
    ] as const;
    await client.delete({ type: flagdType, namespace, name }, world.signal);
    for (const [type, apiVersion, kind] of kinds) {
      const { metadata, spec } = (await world.find(type, name)) as KubeObject & { readonly spec: object };
      await client.delete({ type, namespace, name }, world.signal);
      const { labels, annotations } = metadata;
      const restored = { ...{ apiVersion, kind, spec }, metadata: { name, namespace, labels, annotations } };
      const query = { fieldManager: "velero-server" };
      await client.create({ type, namespace }, restored, world.signal, { query });
    }
    const { uid } = (await putFlagd()).metadata;
    served = new AbortController();
    start();
    const isOwned = ({ metadata }: KubeObject): boolean =>
      JSON.stringify(metadata["ownerReferences"] ?? []).includes(`"${uid ?? ""}"`);
    for (const [type, , kind] of kinds)
      await world.until(type, name, isOwned, `the ${kind} belongs to the Flagd`);
    await untilCondition("Progressing", "True", "Deploying");
  });

  it("say what the API server refuses, and are tried again", async () => {
    await putSource();
    await putFlagd({ serviceType: "ExternalName" });
    await untilCondition("Progressing", "False", "ApplyFailed");
    await putFlagd({ serviceType: "ClusterIP" });
    await world.until(Service, name, () => true, "there is a Service");
  });

  it("say that they are not served while the operator runs without --flagd, and what became of them once it runs with that", async () => {
    await putSource();
    await putFlagd();
    await deployed();
    await untilCondition("Progressing", "True", "Deploying");
    served.abort();
    const { connected, events, watches, logger, metrics } = world;
    const discovery = new Discovery({ client: connected.client, clock: systemClock });
    const context = { clock, logger, metrics };
    const unserved = new UnservedFlagds({ client: connected.client, watches, discovery, events, context });
    const stop = new AbortController();
    world.run({ run: (all) => unserved.run(AbortSignal.any([all, stop.signal])) });
    await untilCondition("Progressing", "False", "NotServed");
    const flagd = await world.find(flagdType, name);
    expect(flagd === undefined ? undefined : conditionOf(flagd, "Available")).to.equal(undefined);
    await eventually(async () => (await world.reasons()).includes("NotServed"), "an event says so");
    expect(await world.find(Deployment, name), "what there is stays").to.not.equal(undefined);
    stop.abort();
    served = new AbortController();
    start();
    await untilCondition("Available", "False", "NoReplicas");
    await untilCondition("Progressing", "True", "Deploying");
  });

  it("come to rest: their own writes cause no more", async () => {
    await putSource();
    await putFlagd();
    await deployed();
    await untilCondition("Progressing", "True", "Deploying");
    const runs = (): number => world.metrics.reconciled.read("flagd", "succeeded");
    await eventually(() => controller.isIdle, "there is nothing to do");
    const before = runs();
    const edited = await world.edit(Deployment, name, { metadata: { annotations: { touched: "yes" } } });
    await eventually(() => runs() > before && controller.isIdle, "the change was worked on");
    expect((await deployed()).metadata.resourceVersion).to.equal(edited.metadata.resourceVersion);
  });
});
