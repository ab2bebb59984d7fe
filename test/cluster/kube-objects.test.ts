import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import {
  ClusterWatches,
  connectCluster,
  Discovery,
  EventRecorder,
  formatLabelSelector,
  takeOverFields,
  type ConnectedCluster,
  type KubeObject,
} from "@bunting/kube";
import { createLogger, systemClock } from "@bunting/runtime";
import { EventQueue, eventually } from "../support/event-queue.js";
import { LeaseCandidate } from "./support/lease-candidate.js";
import { sharedCluster } from "./support/use-cluster.js";

const configMaps = { group: "", version: "v1", plural: "configmaps" };
const deployments = { group: "apps", version: "v1", plural: "deployments" };
const recorded = path.join(import.meta.dirname, "../fixtures/stock-operator");

describe("what the operator needs of a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  let namespace: string;
  let connected: ConnectedCluster;
  let abort: AbortController;
  let running: Promise<unknown>[];

  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    connected = await connectCluster(choice, {
      program: "bunting-test/0.0.0",
      clock: systemClock,
      env: {},
    });
    abort = new AbortController();
    running = [connected.connections.run(abort.signal)];
  });

  afterEach(async () => {
    abort.abort();
    await Promise.all(running);
  });

  const scopeOf = (name: string): { type: typeof configMaps; namespace: string; name: string } => ({
    type: configMaps,
    namespace,
    name,
  });

  async function put(name: string, labels: Readonly<Record<string, string>>): Promise<KubeObject> {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels } };
    return connected.client.apply(scopeOf(name), object, { fieldManager: "test", force: true }, abort.signal);
  }

  it("an informer holds the objects that its labels select, and hears when they no longer do", async () => {
    const news = new EventQueue<string>();
    const watches = new ClusterWatches({
      client: connected.client,
      context: {
        clock: systemClock,
        logger,
        metrics: { relist: () => undefined, event: () => undefined, error: () => undefined },
      },
    });
    await put("before", { app: "shop" });
    await put("other", { app: "blog" });
    const labelSelector = formatLabelSelector({
      matchExpressions: [{ key: "app", operator: "In", values: ["shop", "cart"] }],
    });
    const watch = watches.inform<KubeObject, "app">(
      { type: configMaps, namespace, labelSelector },
      {
        indexes: { app: ({ metadata: { labels = {} } }) => [labels["app"] ?? ""] },
        handler: {
          changed: (key, object) => news.push(`${key} ${object?.metadata.labels?.["app"] ?? "gone"}`),
          synced: () => news.push("synced"),
        },
      },
    );
    const { informer } = watch;
    running.push(watch.run(abort.signal));
    for (const expected of [`${namespace}/before shop`, "synced"])
      expect(await news.nextEvent()).to.equal(expected);
    await put("later", { app: "cart" });
    expect(await news.nextEvent()).to.equal(`${namespace}/later cart`);
    expect(informer.store.by("app", "cart").map(({ metadata }) => metadata.name)).to.deep.equal(["later"]);
    await put("later", { app: "blog" });
    expect(await news.nextEvent()).to.equal(`${namespace}/later gone`);
    await connected.client.delete(scopeOf("before"), abort.signal);
    expect(await news.nextEvent()).to.equal(`${namespace}/before gone`);
    expect([...informer.store.keys()]).to.deep.equal([]);
  });

  it("events are accepted, and become a series", async () => {
    const recorder = new EventRecorder({
      client: connected.client,
      controller: "bunting.dev/operator",
      instance: "operator-1",
      context: { clock: systemClock, logger },
    });
    running.push(recorder.run(abort.signal));
    const { metadata } = await put("a", {});
    const event = {
      regarding: { apiVersion: "v1", kind: "ConfigMap", namespace, name: "a", uid: metadata.uid ?? "" },
      type: "Warning",
      reason: "NotInjected",
      action: "Inject",
      note: "There is no source.",
    } as const;
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    recorder.record(event);
    await eventually(async () => (await cluster().api.list(path)).items.length === 1, "the event is written");
    recorder.record(event);
    recorder.record(event);
    await eventually(async () => {
      const [written] = (await cluster().api.list(path)).items as readonly { series?: { count: number } }[];
      return written?.series?.count === 3;
    }, "the event is a series of three");
  });

  it("discovery knows which types are served", async () => {
    const discovery = new Discovery({ client: connected.client, clock: systemClock });
    expect(await discovery.kindOf(deployments, abort.signal)).to.equal("Deployment");
    expect(await discovery.kindOf(configMaps, abort.signal)).to.equal("ConfigMap");
    const gateways = { group: "gateway.networking.k8s.io", version: "v1", plural: "gateways" };
    expect(await discovery.serves(gateways, abort.signal)).to.equal(false);
  });

  it("fields of the stock operator's proxy become ours, and go when we do not apply them", async () => {
    const stock = JSON.parse(readFileSync(path.join(recorded, "proxy-deployment.json"), "utf8")) as {
      readonly labels: object;
      readonly spec: { readonly template: { readonly spec: Readonly<Record<string, unknown>> } };
    };
    const { labels } = stock;
    const name = "flagd-proxy";
    const deployment = {
      ...{
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace, labels },
        spec: stock.spec,
      },
    };
    const scope = { type: deployments, namespace, name };
    const query = { fieldManager: "manager" };
    await connected.client.create({ type: deployments, namespace }, deployment, abort.signal, { query });
    const { topologySpreadConstraints: spread, ...podSpec } = stock.spec.template.spec;
    expect(spread, "the stock proxy spreads over nodes").to.not.equal(undefined);
    const template = { ...stock.spec.template, spec: podSpec };
    const ours = { ...deployment, spec: { ...stock.spec, template } };
    const options = { fieldManager: "bunting-operator", force: true };
    await connected.client.apply(scope, ours, options, abort.signal);
    const kept = await connected.client.get(scope, abort.signal);
    expect(spreadOf(kept), "it stays while it is the stock operator's").to.not.equal(undefined);
    const patch = takeOverFields(
      kept,
      "bunting-operator",
      ({ manager, operation }) => manager === "manager" && operation === "Update",
    );
    await connected.client.patch(scope, "json", patch ?? [], abort.signal);
    await connected.client.apply(scope, ours, options, abort.signal);
    const now = await connected.client.get(scope, abort.signal);
    expect(spreadOf(now)).to.equal(undefined);
    expect(takeOverFields(now, "bunting-operator", ({ manager }) => manager === "manager")).to.equal(
      undefined,
    );
  });

  describe("a leader election", () => {
    let candidates: LeaseCandidate[];
    beforeEach(() => {
      candidates = [];
    });
    afterEach(() => Promise.all(candidates.map((candidate) => candidate.stop())));

    function candidate(identity: string): LeaseCandidate {
      const started = new LeaseCandidate(cluster().kubeconfig, { namespace, name: "operator" }, identity);
      candidates.push(started);
      return started;
    }

    it("passes on at once when the leader stops, and after the lease when it is killed", async () => {
      const first = candidate("a");
      await first.expectNext("leads");
      const others = [candidate("b"), candidate("c")];
      const led = others.map((other) => other.expectNext("leads").then(() => other));
      expect(await first.stop()).to.equal(0);
      await first.expectNext("leads no longer");
      (await Promise.race(led)).signal("SIGKILL");
      // The other one as well, when the lease has lapsed.
      await Promise.all(led);
    });

    it("leaves a leader that was stopped for too long no moment to lead", async () => {
      const first = candidate("a");
      await first.expectNext("leads");
      const second = candidate("b");
      first.signal("SIGSTOP");
      await second.expectNext("leads");
      first.signal("SIGCONT");
      await first.expectNext("leads no longer");
      expect(second.isQuiet).to.equal(true);
    });
  });
});

function spreadOf(deployment: KubeObject): unknown {
  const { spec } = deployment as {
    readonly spec?: { readonly template?: { readonly spec?: Record<string, unknown> } };
  };
  return spec?.template?.spec?.["topologySpreadConstraints"];
}
