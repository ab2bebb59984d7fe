import { KubeError, type EventDetails, type KubeObject, type ResourceScope } from "@bunting/kube";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { SecurityTarget } from "../../desired/proxy-security/security-state.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { createRegistry } from "@bunting/runtime";
import { SecurityController } from "./security-controller.js";
import { readSecurity, securityConfigMapName } from "./stored-security.js";

const minute = 60_000;
const uri = "flagd-proxy-svc.flags.svc.cluster.local:8015";
const plain = { name: "flagd", args: ["start", `--sources=[{"uri":"${uri}"}]`] };
const secured = {
  ...plain,
  env: ["BUNTING_CA_FILE", "BUNTING_TOKEN_FILE"].map((name) => ({ name, value: "/run/it" })),
  volumeMounts: [{ name: "identity", mountPath: "/run" }],
};
const volumes = [{ name: "identity", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }];

/** What the controller reads of a cluster: a Deployment that is rolled out as soon as it changes, unless it is held. */
class ScriptedCluster {
  configMap: KubeObject | undefined;
  deployed = "plain";
  proxies: string[] = ["plain"];
  injections: object[] = [];
  pods: object[] = [];
  pages = 0;
  /** Where Pods and Injections were looked at. */
  readonly namespaces = new Set<string>();
  #version = 0;

  get({ name }: ResourceScope): Promise<KubeObject> {
    const found = name === securityConfigMapName ? this.configMap : this.#deployment();
    return found === undefined ? Promise.reject(new KubeError("NOT_FOUND", "none")) : Promise.resolve(found);
  }

  list() {
    const items = this.proxies.map((access, i) => ({
      metadata: { name: `flagd-proxy-${i}`, annotations: { "bunting.dev/proxy-access": access } },
    }));
    return Promise.resolve({ resourceVersion: "1", continueToken: undefined, items });
  }

  /** One object a page. */
  readPage(scope: ResourceScope, query: { readonly continue?: unknown }, onObject: (of: KubeObject) => void) {
    this.namespaces.add(scope.namespace ?? "all");
    const all = scope.type.plural === "pods" ? this.pods : this.injections;
    const index = Number(query.continue ?? 0);
    const object = all[index];
    if (object !== undefined) onObject(object as KubeObject);
    this.pages++;
    const continueToken = index + 1 < all.length ? String(index + 1) : undefined;
    return Promise.resolve({ resourceVersion: "1", continueToken, items: 1, bytes: 1 });
  }

  create(_scope: unknown, object: object): Promise<KubeObject> {
    return this.#put(object as KubeObject, undefined);
  }

  patch(_scope: unknown, _type: unknown, object: object): Promise<KubeObject> {
    return this.#put(object as KubeObject, (object as KubeObject).metadata.resourceVersion);
  }

  #put(object: KubeObject, expected: string | undefined): Promise<KubeObject> {
    if (this.configMap?.metadata.resourceVersion !== expected)
      return Promise.reject(new KubeError("CONFLICT", "it has changed"));
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    return Promise.resolve((this.configMap = { ...object, metadata }));
  }

  #deployment(): KubeObject {
    const metadata = { name: "flagd-proxy", namespace: "flags", uid: "u", generation: 1 };
    const annotations = { "bunting.dev/proxy-access": this.deployed };
    const status = { observedGeneration: 1, replicas: 1, updatedReplicas: 1 };
    return { metadata, spec: { template: { metadata: { annotations } } }, status };
  }
}

/** A clock whose time of day somebody sets. */
class SetClock extends ManualClock {
  stepMs = 0;

  override now(): number {
    return super.now() + this.stepMs;
  }
}

describe("SecurityController", () => {
  let cluster: ScriptedCluster;
  let clock: SetClock;
  let abort: AbortController;
  let running: Promise<void>;
  let controller: SecurityController;
  let events: EventDetails[];
  let lacking: readonly string[] | undefined;
  let except: Set<string>;

  beforeEach(() => {
    cluster = new ScriptedCluster();
    clock = new SetClock();
    events = [];
    lacking = [];
    except = new Set();
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  function start(target: SecurityTarget, served?: readonly string[]): void {
    abort = new AbortController();
    controller = new SecurityController({
      cluster: { client: cluster, events: { record: (event) => void events.push(event) }, served },
      namespace: "flags",
      wanted: { target, except },
      lacking: () => lacking,
      onAccess: () => {
        const { access = "none" } = controller;
        cluster.deployed = access;
        cluster.proxies = [access];
      },
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics(createRegistry(false)) },
    });
    running = controller.run(abort.signal);
  }

  async function restart(target: SecurityTarget): Promise<void> {
    abort.abort();
    await running;
    start(target);
  }

  const security = () => (cluster.configMap === undefined ? undefined : readSecurity(cluster.configMap));

  /** Time goes on, a look at a time. */
  async function until(state: string, isMet = (): boolean => security()?.state === state): Promise<void> {
    await eventually(() => {
      if (!isMet()) clock.advance(2_000);
      return isMet();
    }, `the state is ${state}, not ${security()?.state} (${security()?.waitsFor})`);
  }

  const waits = (text: string): Promise<void> =>
    until(text, () => security()?.waitsFor.includes(text) === true);

  const podOf = (name: string, container: object, namespace = "shop"): object => ({
    metadata: { namespace, name },
    spec: { containers: [{ name: "app" }], initContainers: [container], volumes },
  });
  const injectionOf = (container: object, namespace = "shop"): object => ({
    metadata: { namespace, name: "bunting" },
    spec: { format: 1, sources: { flags: { container, volumes } } },
  });

  it("writes nothing where nothing was ever secured, and has the proxy serve plaintext", async () => {
    start("off");
    await eventually(() => controller.access === "plain");
    expect([cluster.configMap, cluster.pages]).to.deep.equal([undefined, 0]);
  });

  it("goes to on when Pods have been replaced, and names those that hold it up", async () => {
    cluster.injections = [injectionOf(secured)];
    cluster.pods = ["a", "b"].map((name) => podOf(name, plain));
    start("on");
    await waits("2 Pods ask the proxy");
    expect(security()).to.include({ state: "mixed" });
    expect(security()?.waitsFor).to.include("shop/a, shop/b");
    expect(events.map(({ note }) => note).join(" ")).to.include("shop/a, shop/b");
    expect(cluster.proxies).to.deep.equal(["both"]);
    cluster.pods = [podOf("a", secured), podOf("b", secured)];
    await until("on");
    await eventually(() => security()?.waitsFor === "");
    expect(cluster.proxies).to.deep.equal(["secured"]);
  });

  it("looks only where the operator serves anybody, and so may read", async () => {
    cluster.injections = [injectionOf(secured)];
    cluster.pods = [podOf("a", plain)];
    start("on", ["shop", "blog"]);
    await waits("2 Pods ask the proxy");
    expect([...cluster.namespaces]).to.deep.equal(["shop", "blog"]);
  });

  it("looks at no Pods while an Injection gives new ones what they had before, nor a minute after that", async () => {
    cluster.injections = [injectionOf(secured), injectionOf(plain)];
    start("on");
    await until("mixed");
    for (let waited = 0; waited < 3; waited++) {
      const { pages } = cluster;
      await until("another look at Injections", () => cluster.pages >= pages + 2);
    }
    expect(security()?.state).to.equal("mixed");
    cluster.injections = [injectionOf(secured)];
    const fromMs = clock.now();
    await until("closing", () => security()?.state !== "mixed");
    expect(clock.now() - fromMs).to.be.at.least(minute);
  });

  for (const [how, stepMs] of [
    ["back", -60 * minute],
    ["forward", 60 * minute],
  ] as const)
    it(`waits the minute, and no longer, though the clock is set ${how} an hour meanwhile`, async () => {
      cluster.injections = [injectionOf(secured), injectionOf(plain)];
      start("on");
      await until("mixed");
      cluster.injections = [injectionOf(secured)];
      const { pages } = cluster;
      await until("another look at Injections", () => cluster.pages >= pages + 1);
      clock.stepMs = stepMs;
      const fromMs = clock.monotonicMs();
      await until("closing", () => security()?.state !== "mixed");
      expect(clock.monotonicMs() - fromMs).to.be.within(minute - 4_000, 3 * minute);
    });

  it("waits for the authority in each namespace, and says where it is not", async () => {
    lacking = ["shop"];
    start("mixed");
    await waits("bunting-ca is not yet in 1 namespaces: shop");
    expect(security()?.state).to.equal("off");
    lacking = [];
    await until("mixed");
  });

  it("goes back to off when no Pod speaks TLS any more, whoever leads by then", async () => {
    cluster.pods = [podOf("a", secured)];
    start("on");
    await until("on");
    await restart("off");
    await waits("1 Pods speak TLS");
    expect(cluster.proxies).to.deep.equal(["both"]);
    await restart("off");
    cluster.pods = [podOf("a", plain)];
    await until("off");
    await eventually(() => cluster.proxies[0] === "plain");
  });

  it("has the proxy serve both when the state was lost, and begins again from there", async () => {
    cluster.pods = [podOf("a", secured)];
    start("on");
    await until("on");
    cluster.configMap = undefined;
    await restart("on");
    await until("mixed");
    expect(cluster.proxies).to.deep.equal(["both"]);
    await until("on");
  });

  it("waits for nobody in namespaces that are excepted, on the way there and back", async () => {
    except.add("hostile");
    cluster.injections = [injectionOf(secured), injectionOf(plain, "hostile")];
    cluster.pods = [podOf("a", secured), podOf("b", plain, "hostile")];
    start("on");
    await until("on");
    cluster.injections = [injectionOf(plain), injectionOf(secured, "hostile")];
    cluster.pods = [podOf("a", plain), podOf("b", secured, "hostile")];
    await restart("off");
    await until("off");
  });

  it("names five of 10,000 Pods that hold it up, and looks at them no more often than they take time", async () => {
    cluster.injections = [injectionOf(secured)];
    cluster.pods = Array.from({ length: 10_000 }, (_, index) => podOf(`p${index}`, plain));
    start("on");
    await waits("10000 Pods ask the proxy");
    expect(security()?.waitsFor).to.match(/: shop\/p0, shop\/p1, shop\/p2, shop\/p3, shop\/p4, …$/);
    const { pages } = cluster;
    clock.advance(20_000);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(cluster.pages, "not within half a minute").to.equal(pages);
  });
});
