import { expect } from "chai";
import {
  ClusterWatches,
  connectCluster,
  KubeError,
  type ConnectedCluster,
  type EventDetails,
} from "@bunting/kube";
import type { ProxyAgents } from "@bunting/operator/internal/controllers/agents/proxy-agents.js";
import { type AgentsOfAddress, sourceListDigest } from "@bunting/protocol";
import { MissedPods } from "@bunting/operator/internal/controllers/pods/missed-pods.js";
import { missedPodsMetrics } from "@bunting/operator/internal/controllers/pods/missed-pods-metrics.js";
import { NotInjectedEvents } from "@bunting/operator/internal/controllers/pods/not-injected-events.js";
import { PodStream } from "@bunting/operator/internal/controllers/pods/pod-stream.js";
import {
  RolloutOnChange,
  type RolloutOnChangeOptions,
} from "@bunting/operator/internal/controllers/rollout/rollout-on-change.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { fullEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { createLogger, systemClock, type Clock, type Runnable } from "@bunting/runtime";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { sharedCluster } from "./support/use-cluster.js";

const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "shop" };
const app = { name: "app", image: "shop.example/app" };
const injections = (namespace: string): string =>
  `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections`;

describe("what the operator does about Pods and workloads, on a real API server", function () {
  this.timeout(60_000);
  const cluster = sharedCluster();
  let namespace: string;
  let connected: ConnectedCluster;
  let watches: ClusterWatches;
  let life: AbortController;
  let living: Promise<unknown>;
  /** Of what the leader runs. */
  let abort: AbortController;
  let running: Promise<unknown>[];
  let recorded: EventDetails[];
  const metrics = { ...operatorMetrics(), ...missedPodsMetrics.create() };
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const events = { record: (event: EventDetails) => void recorded.push(event) };
  /** Waits of seconds take a fiftieth of that. */
  const hurried: Clock = {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() * 50,
    after: (ms, callback) => systemClock.after(ms / 50, callback),
  };

  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    recorded = [];
    const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    connected = await connectCluster(choice, { program: "bunting-test/0.0.0", clock: systemClock, env: {} });
    const ofWatches = { relist: () => undefined, event: () => undefined, error: () => undefined };
    watches = new ClusterWatches({
      client: connected.client,
      context: { clock: systemClock, logger, metrics: ofWatches },
    });
    life = new AbortController();
    living = connected.connections.run(life.signal);
    abort = new AbortController();
    running = [];
  });

  afterEach(async () => {
    await stop();
    life.abort();
    await living;
  });

  async function stop(): Promise<void> {
    abort.abort();
    await Promise.all(running.splice(0));
  }

  function run(...parts: readonly Runnable[]): void {
    running.push(...parts.map((part) => part.run(abort.signal)));
  }

  const context = { clock: hurried, logger, metrics };
  const ofNamespace = (): EventDetails[] =>
    recorded.filter(({ regarding }) => regarding.namespace === namespace);

  describe("missed Pods", () => {
    const pods = (): string => `/api/v1/namespaces/${namespace}/pods`;
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "4f5e", controller: true };

    async function create(name: string, spec: object = {}, metadata: object = {}): Promise<ApiObject> {
      return cluster().api.create(pods(), {
        metadata: { name, annotations, ownerReferences: [owner], labels: { app: "db" }, ...metadata },
        spec: {
          containers: [app],
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 0,
          ...spec,
        },
      });
    }

    function start(policy: "report" | "evict"): void {
      const lookup = (): typeof fullEntry => fullEntry;
      const exempt = new Set<string>();
      const missed = new MissedPods({ client: connected.client, events, lookup, exempt, policy, context });
      run(missed, new PodStream(watches, [missed, new NotInjectedEvents(events)]));
    }
    const missedNow = (): number => metrics.missedPods.read(namespace);
    const namesNow = async (): Promise<string[]> =>
      (await cluster().api.list(pods())).items.map(({ metadata }) => metadata.name).sort();

    it("are found at the start and later, by metadata alone until one is suspicious", async () => {
      await create("before");
      await create("stock", { initContainers: [{ ...app, name: "flagd", restartPolicy: "Always" }] });
      await create("marked", {}, { annotations: { ...annotations, "bunting.dev/injected": "policy 1" } });
      await create("told", {}, { annotations: { ...annotations, "bunting.dev/not-injected": "PortTaken" } });
      await create("other", {}, { annotations: {} });
      start("report");
      await eventually(() => missedNow() === 1, "one Pod was missed");
      await create("later");
      await eventually(() => missedNow() === 2, "another one was missed");
      const told = ofNamespace().map(
        ({ reason, regarding, related }) => `${reason} ${regarding.name} ${related?.name}`,
      );
      expect(told.sort()).to.deep.equal(["Missed db before", "Missed db later", "PortTaken db told"]);
      await cluster().api.delete(`${pods()}/before?gracePeriodSeconds=0`);
      await eventually(() => missedNow() === 1, "one of them is gone");
    });

    it("are evicted one by one, and stay where a budget holds them", async () => {
      for (const name of ["a", "b"]) await create(name);
      await create("held", {}, { labels: { app: "held" }, ownerReferences: [{ ...owner, name: "held" }] });
      // Only a running Pod is held by a budget; nothing here counts how many of it may go, so none may.
      await cluster().api.patch(`${pods()}/held/status`, {
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      });
      await cluster().api.create(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
        metadata: { name: "held" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "held" } } },
      });
      start("evict");
      await eventually(async () => (await namesNow()).join() === "held", "all but one are evicted");
      await eventually(() => metrics.evicted.read("held-back") > 0, "a budget holds one back");
      await cluster().api.delete(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/held`);
      await eventually(async () => (await namesNow()).length === 0, "it is evicted when it may be");
      await eventually(() => missedNow() === 0, "the operator has heard of it");
      // Of the last one it may hear that it is gone before it has the answer to its eviction.
      const told = (): number => ofNamespace().filter(({ reason }) => reason === "Evicted").length;
      await eventually(() => told() === 3, "each eviction is told");
    });
  });

  describe("a rollout on change", () => {
    const workloads = (plural: string): string => `/apis/apps/v1/namespaces/${namespace}/${plural}`;

    async function createWorkload(kind: string, name: string, of: object): Promise<void> {
      await cluster().api.create(workloads(`${kind.toLowerCase()}s`), {
        ...{ apiVersion: "apps/v1", kind },
        metadata: { name },
        spec: {
          selector: { matchLabels: { app: name } },
          ...(kind === "StatefulSet" ? { serviceName: name } : {}),
          template: { metadata: { labels: { app: name }, annotations: of }, spec: { containers: [app] } },
        },
      });
    }

    /** Restarts of each workload: its generation. */
    async function generations(): Promise<Readonly<Record<string, number>>> {
      const plurals = ["deployments", "statefulsets", "daemonsets"];
      const lists = await Promise.all(plurals.map((plural) => cluster().api.list(workloads(plural))));
      const objects = lists.flatMap(({ items }) => items);
      return Object.fromEntries(objects.map(({ metadata }) => [metadata.name, metadata.generation ?? 0]));
    }

    /** A Pod of a Deployment whose sidecar was told this list. */
    async function createSidecarPod(workload: string, ip: string, list: string): Promise<void> {
      const pods = `/api/v1/namespaces/${namespace}/pods`;
      const name = `${workload}-1f-x`;
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", uid: "4f5e", controller: true };
      const env = [{ name: "BUNTING_SOURCE_LIST", value: list }];
      await cluster().api.create(pods, {
        metadata: {
          ...{ name, annotations, labels: { app: workload, "pod-template-hash": "1f" } },
          ownerReferences: [{ ...owner, name: `${workload}-1f` }],
        },
        spec: {
          containers: [app],
          initContainers: [{ name: "flagd", image: "shop.example/flagd", restartPolicy: "Always", env }],
          automountServiceAccountToken: false,
        },
      });
      await cluster().api.patch(`${pods}/${name}/status`, {
        status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
      });
    }

    async function compile(digests: Readonly<Record<string, string>>, more: object = {}): Promise<void> {
      const sources = Object.fromEntries(
        Object.entries(digests).map(([text, digest]) => [text, { ...fullEntry, digest, ...more }]),
      );
      await cluster().api.apply(`${injections(namespace)}/bunting`, {
        ...{ apiVersion: "bunting.dev/v1alpha1", kind: "Injection" },
        metadata: { name: "bunting" },
        spec: { format: 1, sources },
      });
    }
    const rolledOut = async (): Promise<unknown> => {
      const { metadata } = await cluster().api.get(`${injections(namespace)}/bunting`);
      const { "bunting.dev/rolled-out": text } = (metadata["annotations"] ?? {}) as Record<string, string>;
      return text === undefined ? undefined : JSON.parse(text);
    };
    const isRolledOut = (digests: object) => async (): Promise<boolean> =>
      JSON.stringify(await rolledOut()) === JSON.stringify(digests);

    const start = (parts: Partial<RolloutOnChangeOptions> = {}): RolloutOnChange =>
      new RolloutOnChange({
        ...{ client: connected.client, watches, events, proxies: undefined, context },
        sources: {
          restarts: (_namespace, text) => text !== "calm",
          ready: Promise.resolve(),
          listen: () => () => undefined,
        },
        ...parts,
      });

    it("restarts what does not follow, where only the FeatureFlags of a source have changed", async () => {
      const compileList = (origin: string, ...flags: readonly string[]): Promise<void> =>
        compile({ shop: origin }, { frame: "f1", origin, flags });
      const addresses = { follows: "10.1.0.1", late: "10.1.0.2", older: "10.1.0.3" };
      for (const [name, ip] of Object.entries(addresses)) {
        await createWorkload("Deployment", name, annotations);
        const value = `${namespace}/shop@${name === "older" ? "f0" : "f1"}:0:0`;
        await createSidecarPod(name, ip, value);
      }
      let isKnown = false;
      let asked = "";
      const following = sourceListDigest({
        namespace,
        text: "shop",
        frame: "f1",
        topics: ["shop/a", "shop/b"],
      });
      const readOf: ProxyAgents["readOf"] = (some) => {
        asked = [...some].sort().join();
        if (!isKnown) return Promise.resolve({ kind: "unknown" });
        const of = (address: string): AgentsOfAddress => {
          const lists = [address === addresses.late ? "of before" : following];
          return { address, subscriptions: 1, current: 1, lists };
        };
        return Promise.resolve({ kind: "told", agents: new Map(some.map((each) => [each, of(each)])) });
      };
      await compileList("1", "shop/a");
      run(start({ proxies: { readOf } }));
      await eventually(isRolledOut({ shop: "1/f1" }), "it is remembered");
      await compileList("2", "shop/a", "shop/b");
      await eventually(() => asked !== "", "a proxy is asked");
      expect(asked, "of one that can't follow nobody is asked").to.equal("10.1.0.1,10.1.0.2");
      expect(await rolledOut(), "nobody knows yet").to.deep.equal({ shop: "1/f1" });
      isKnown = true;
      await eventually(isRolledOut({ shop: "2/f1" }), "what does not follow is restarted");
      expect(await generations()).to.deep.equal({ follows: 1, late: 2, older: 2 });

      await stop();
      abort = new AbortController();
      await compileList("3", "shop/b", "shop/a");
      const later: Clock = { ...hurried, now: () => Date.now() + 60_000 };
      run(start({ context: { ...context, clock: later } }));
      await eventually(isRolledOut({ shop: "3/f1" }), "the order has changed, and nobody is to be asked");
      expect(await generations()).to.deep.equal({ follows: 2, late: 3, older: 3 });
    });

    it("restarts nothing twice if it can't write down at once that it has", async () => {
      await createWorkload("Deployment", "web", annotations);
      await compile({ shop: "1" });
      let faults = 0;
      const { client } = connected;
      const faulty: RolloutOnChangeOptions["client"] = {
        readPage: (...args) => client.readPage(...args),
        patch: (...args) => client.patch(...args),
        // Injections of other tests are written in the same run, whenever their turn comes.
        apply: (scope, ...args) =>
          scope.namespace === namespace && faults-- > 0
            ? Promise.reject(new KubeError("CONNECTION_LOST", "lost"))
            : client.apply(scope, ...args),
      };
      let now = Date.now();
      const forgetful: Clock = { ...hurried, now: () => (now += 60_000) };
      run(start({ client: faulty, context: { ...context, clock: forgetful } }));
      await eventually(isRolledOut({ shop: "1" }), "the digest is remembered");
      faults = 2;
      await compile({ shop: "2" });
      await eventually(isRolledOut({ shop: "2" }), "the change is rolled out");
      expect(faults, "it was written once, at the third attempt").to.equal(-1);
      expect(await generations()).to.deep.equal({ web: 2 });
    });

    it("restarts a namespace at most once a minute, with the last of the changes", async () => {
      await createWorkload("Deployment", "web", annotations);
      await compile({ shop: "1" });
      const waits: number[] = [];
      const clock: Clock = {
        ...hurried,
        after: (ms, callback) => {
          waits.push(ms);
          return hurried.after(ms, callback);
        },
      };
      run(start({ context: { ...context, clock } }));
      await eventually(isRolledOut({ shop: "1" }), "the digest is remembered");
      await compile({ shop: "2" });
      await eventually(isRolledOut({ shop: "2" }), "the change is rolled out");
      await compile({ shop: "3" });
      await eventually(() => waits.some((ms) => ms > 10_000 && ms <= 60_000), "the next one has to wait");
      await compile({ shop: "4" });
      await eventually(isRolledOut({ shop: "4" }), "the last one is rolled out");
      expect(await generations()).to.deep.equal({ web: 3 });
    });

    it("restarts what names the source, in every kind, once a change, and nothing at a start", async () => {
      await createWorkload("Deployment", "web", annotations);
      await createWorkload("StatefulSet", "db", annotations);
      await createWorkload("DaemonSet", "log", annotations);
      await createWorkload("Deployment", "both", {
        ...annotations,
        "openfeature.dev/featureflagsource": "shop,base",
      });
      await createWorkload("Deployment", "calm", {
        ...annotations,
        "openfeature.dev/featureflagsource": "calm",
      });
      await createWorkload("Deployment", "off", { ...annotations, "openfeature.dev/enabled": "false" });
      const untouched = { web: 1, db: 1, log: 1, both: 1, calm: 1, off: 1 };
      await compile({ shop: "1", "shop,base": "1", calm: "1" });
      run(start());
      await eventually(isRolledOut({ shop: "1", "shop,base": "1" }), "the digests are remembered");
      expect(await generations()).to.deep.equal(untouched);

      await compile({ shop: "2", "shop,base": "1", calm: "2" });
      await eventually(isRolledOut({ shop: "2", "shop,base": "1" }), "the change is rolled out");
      const restarted = { ...untouched, web: 2, db: 2, log: 2 };
      expect(await generations()).to.deep.equal(restarted);
      expect(ofNamespace().map(({ regarding: { kind, name } }) => `${kind} ${name}`)).to.deep.equal([
        "Deployment web",
        "StatefulSet db",
        "DaemonSet log",
      ]);
      const { spec } = await cluster().api.get(`${workloads("deployments")}/web`);
      const { template } = spec as { template: { metadata: { annotations: Record<string, string> } } };
      expect(template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]).to.match(/^\d{4}-.*:\d\dZ$/);

      // What was compiled while nobody led is rolled out by the next leader.
      await stop();
      abort = new AbortController();
      await compile({ shop: "2", "shop,base": "2", calm: "3" });
      run(start());
      await eventually(isRolledOut({ shop: "2", "shop,base": "2" }), "the other change is rolled out");
      expect(await generations()).to.deep.equal({ ...restarted, both: 2 });
    });
  });
});
