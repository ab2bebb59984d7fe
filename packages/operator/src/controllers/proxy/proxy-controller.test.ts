import { KubeError, type EventDetails, type KubeObject } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { DesiredObject } from "../../desired/desired-object.js";
import { operatorMetrics } from "../../operator-metrics.js";
import type { OwnPlace } from "../own-place.js";
import type { Applied } from "../apply/applier.js";
import type { ProxyCluster } from "./proxy-cluster.js";
import { ProxyController } from "./proxy-controller.js";
import { ProxyUse } from "./proxy-use.js";

const minute = 60_000;
const settings = {
  namespace: "flags",
  image: "proxy:2",
  replicas: 2,
  ports: { sync: 8015, management: 8016 },
  debugLogging: false,
  options: {},
  pod: { serviceAccountName: "proxy", labels: {}, annotations: {}, imagePullSecrets: [] },
  tellsAgents: false,
  hasNetworkPolicy: true,
};

/** Objects in memory, with faults on command: what a real API server does with them is tested there. */
class ScriptedCluster implements ProxyCluster {
  readonly objects = new Map<string, DesiredObject>();
  /** Kinds of which somebody else has the name. */
  readonly taken = new Set<string>();
  readonly recorded: EventDetails[] = [];
  fault: KubeError | undefined;
  streams: number | undefined = 0;
  counted = 0;
  removals = 0;
  status: object = {};
  readonly client = {
    get: (): Promise<KubeObject> => {
      if (this.fault !== undefined) return Promise.reject(this.fault);
      const deployment = this.objects.get("Deployment");
      if (deployment === undefined) return Promise.reject(new KubeError("NOT_FOUND", "there is none"));
      return Promise.resolve({ ...deployment, status: this.status } as unknown as KubeObject);
    },
  };
  readonly applier = {
    apply: (desired: DesiredObject): Promise<Applied> => {
      const { kind } = desired;
      const object = { ...desired, status: this.status } as unknown as KubeObject;
      if (this.taken.has(kind)) return Promise.resolve({ kind: "nameTaken", object });
      const change = this.objects.has(kind) ? "none" : "created";
      this.objects.set(kind, desired);
      return Promise.resolve({
        kind: "applied",
        object,
        change,
        overruled: [],
        overridden: [],
        scaledBy: undefined,
      });
    },
    remove: ({ kind }: DesiredObject): Promise<boolean> => {
      this.removals++;
      return Promise.resolve(this.objects.delete(kind));
    },
  };
  readonly events = { record: (event: EventDetails) => void this.recorded.push(event) };
  readonly owner = () => Promise.resolve(undefined);
  operator: OwnPlace = { choosesUser: true, isOnNode: false };
  readonly place = () => Promise.resolve(this.operator);
  readonly subscribers = {
    count: () => {
      this.counted++;
      return Promise.resolve(this.streams);
    },
  };

  get kinds(): string[] {
    return [...this.objects.keys()];
  }

  get reasons(): string[] {
    return this.recorded.map(({ reason }) => reason);
  }
}

describe("ProxyController", () => {
  const all = ["Service", "PodDisruptionBudget", "NetworkPolicy", "Deployment"];
  let clock: ManualClock;
  let use: ProxyUse;
  let cluster: ScriptedCluster;
  let states: string[];
  let controller: ProxyController;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    use = new ProxyUse("auto");
    cluster = new ScriptedCluster();
    states = [];
    create();
  });

  afterEach(async () => {
    await stop();
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  function create(change: Partial<typeof settings> = {}): void {
    const context = { clock, logger: recordingLogger(), metrics: operatorMetrics() };
    controller = new ProxyController({
      settings: { ...settings, ...change },
      use,
      cluster,
      context,
      onState: ({ kind }) => states.push(kind),
    });
    abort = new AbortController();
    running = controller.run(abort.signal);
  }

  async function stop(): Promise<void> {
    abort.abort();
    await running;
  }

  async function settle(ms = 0): Promise<void> {
    clock.advance(ms);
    await nextTurn();
    while (!controller.isIdle) await nextTurn();
  }

  async function unused(): Promise<void> {
    use.set("shop", false);
    await settle();
  }

  async function deployed(): Promise<void> {
    use.set("shop", true);
    use.complete();
    await settle();
  }

  it("waits until it is known whether the proxy is used", async () => {
    cluster.objects.set("NetworkPolicy", {} as DesiredObject);
    await settle();
    await settle(60 * minute);
    expect(cluster.kinds, "nothing is made or removed").to.deep.equal(["NetworkPolicy"]);
    cluster.objects.clear();
    use.set("shop", true);
    await settle();
    expect(cluster.kinds).to.deep.equal(all);
    expect(states).to.deep.equal(["deploying"]);
    cluster.status = { availableReplicas: 1 };
    controller.changed();
    await settle();
    expect(states).to.deep.equal(["deploying", "available"]);
    expect(cluster.reasons).to.deep.equal(["Created", "Created", "Created", "Created"]);
  });

  it("removes the proxy ten minutes after its last use, if it has no subscribers", async () => {
    await deployed();
    await unused();
    await settle(10 * minute - 1);
    expect(cluster.kinds).to.deep.equal(all);
    expect(cluster.counted).to.equal(0);
    await settle(1);
    expect(cluster.kinds).to.deep.equal([]);
    expect(states.at(-1)).to.equal("absent");
  });

  it("keeps the proxy while it has subscribers, or does not know", async () => {
    await deployed();
    await unused();
    for (const streams of [3, undefined]) {
      cluster.streams = streams;
      await settle(10 * minute);
      expect(cluster.kinds).to.deep.equal(all);
    }
    expect(cluster.reasons).to.include("StillSubscribed");
    cluster.streams = 0;
    await settle(minute);
    expect(cluster.kinds).to.deep.equal([]);
  });

  it("keeps a proxy that is used again within the ten minutes, and counts them anew", async () => {
    await deployed();
    await unused();
    await settle(9 * minute);
    use.set("blog", true);
    await settle(30 * minute);
    use.set("blog", false);
    await settle();
    await settle(9 * minute);
    expect(cluster.kinds).to.deep.equal(all);
    await settle(minute);
    expect(cluster.kinds).to.deep.equal([]);
  });

  it("keeps a proxy that is used again while its subscribers are counted", async () => {
    await deployed();
    await unused();
    let end: (count: number) => void = () => undefined;
    cluster.subscribers.count = () => new Promise((resolve) => (end = resolve));
    clock.advance(10 * minute);
    await nextTurn();
    use.set("shop", true);
    end(0);
    await settle();
    expect(cluster.removals, "not even for a moment").to.equal(0);
    expect(cluster.kinds).to.deep.equal(all);
  });

  it("removes what another operator left, once it is known that nothing uses it", async () => {
    cluster.objects.set("Deployment", {} as DesiredObject);
    await settle(9 * minute);
    use.complete();
    await settle();
    await settle(9 * minute);
    expect(cluster.kinds, "the time in which nobody knew does not count").to.deep.equal(["Deployment"]);
    await settle(minute);
    expect(cluster.kinds).to.deep.equal([]);
    expect(cluster.counted).to.equal(1);
  });

  it("counts the ten minutes anew where it begins to lead", async () => {
    await deployed();
    await unused();
    await settle(9 * minute);
    await stop();
    abort = new AbortController();
    running = controller.run(abort.signal);
    await settle();
    await settle(9 * minute);
    expect(cluster.kinds).to.deep.equal(all);
    await settle(minute);
    expect(cluster.kinds).to.deep.equal([]);
  });

  it("makes nothing where one of the names is taken, says so, and looks again", async () => {
    cluster.taken.add("Service");
    await deployed();
    expect(cluster.kinds).to.deep.equal([]);
    expect(states).to.deep.equal(["nameTaken"]);
    expect(cluster.reasons).to.deep.equal(["NameTaken"]);
    cluster.taken.clear();
    await settle(minute);
    expect(cluster.kinds).to.deep.equal(all);
  });

  it("makes nothing where the Deployment is somebody else's", async () => {
    cluster.objects.set("Deployment", {
      metadata: { name: "flagd-proxy", namespace: "flags" },
    } as DesiredObject);
    await deployed();
    expect(cluster.kinds).to.deep.equal(["Deployment"]);
    expect(states).to.deep.equal(["nameTaken"]);
  });

  it("knows its state also while what others do is not put back yet", async () => {
    await deployed();
    const others = async (deployment?: object): Promise<void> => {
      cluster.objects.delete("Deployment");
      if (deployment !== undefined) cluster.objects.set("Deployment", deployment as DesiredObject);
      controller.changed();
      await settle();
    };
    for (let times = 2; times <= 5; times++) await others();
    const ours = cluster.objects.get("Deployment");
    cluster.status = { availableReplicas: 1 };
    await others(ours);
    expect(states.at(-1)).to.equal("available");
    await others({ metadata: { name: "flagd-proxy", namespace: "flags" } });
    expect(states.at(-1)).to.equal("nameTaken");
    await others();
    expect(states.at(-1)).to.equal("deploying");
    expect(cluster.kinds).to.not.include("Deployment");
    await settle(30_000);
    expect(cluster.kinds).to.include("Deployment");
  });

  it("removes a NetworkPolicy that is no longer asked for", async () => {
    await deployed();
    await stop();
    create({ hasNetworkPolicy: false });
    await settle();
    expect(cluster.kinds).to.have.members(["Service", "PodDisruptionBudget", "Deployment"]);
  });

  it("leaves the user of its Pods to OpenShift", async () => {
    const user = (): boolean => JSON.stringify(cluster.objects.get("Deployment")).includes("runAsUser");
    await deployed();
    expect(user()).to.equal(true);
    cluster.operator = { choosesUser: false, isOnNode: false };
    controller.changed();
    await settle();
    expect(user()).to.equal(false);
  });

  it("can be asked by an operator that has the address of a node", async () => {
    cluster.operator = { choosesUser: true, isOnNode: true };
    await deployed();
    const { ingress } = cluster.objects.get("NetworkPolicy")?.["spec"] as {
      readonly ingress: readonly object[];
    };
    expect(ingress.at(-1)).to.deep.equal({ ports: [{ port: "management-port", protocol: "TCP" }] });
  });

  it("says what the API server refuses, and tries again", async () => {
    cluster.fault = new KubeError("FORBIDDEN", "deployments are forbidden");
    await deployed();
    expect(controller.state).to.deep.equal({
      kind: "failed",
      message: "the proxy could not be deployed: deployments are forbidden",
    });
    cluster.fault = undefined;
    await settle(2_000);
    expect(states).to.deep.equal(["failed", "deploying"]);
  });

  it("goes back to the last image that was available when a new one does not become so", async () => {
    await deployed();
    const imageNow = (): unknown =>
      (
        cluster.objects.get("Deployment") as unknown as {
          spec: { template: { spec: { containers: { image: string }[] } } };
        }
      ).spec.template.spec.containers[0]?.image;
    cluster.status = { observedGeneration: 0, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
    controller.changed();
    await settle();
    await stop();
    create({ image: "proxy:3" });
    await settle();
    expect(imageNow()).to.equal("proxy:3");
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    cluster.status = {
      observedGeneration: 0,
      replicas: 3,
      updatedReplicas: 1,
      availableReplicas: 2,
      conditions,
    };
    controller.changed();
    await settle();
    expect(imageNow()).to.equal("proxy:2");
    expect(controller.state).to.include({ kind: "degraded" });
    expect(cluster.reasons).to.include("RolledBack");
    cluster.status = { observedGeneration: 0, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
    controller.changed();
    await settle();
    expect(imageNow(), "it stays").to.equal("proxy:2");
  });
});
