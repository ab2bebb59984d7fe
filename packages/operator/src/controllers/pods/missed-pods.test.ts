import { KubeError, type EventDetails, type KubeObject, type ObjectMeta } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { EntryLookup } from "../../admission/entry-lookup.js";
import { fullEntry } from "../../pod/injection-entry.fixture.js";
import { notInjectedReasons } from "../../pod/reasons.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { MissedPods, type MissedPodsOptions } from "./missed-pods.js";
import { missedPodsMetrics } from "./missed-pods-metrics.js";

const second = 1_000;
const minute = 60 * second;
const named = { name: "" };
const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "shop" };

describe("MissedPods", () => {
  let clock: ManualClock;
  let pods: Map<string, KubeObject>;
  let reads: string[];
  let whileReading: () => void;
  let evictions: string[];
  let fault: KubeError | undefined;
  let events: EventDetails[];
  let lookup: EntryLookup;
  let metrics: ReturnType<typeof allMetrics>;
  let abort: AbortController;
  let running: Promise<void>;
  let missed: MissedPods;

  const allMetrics = () => ({ ...operatorMetrics(), ...missedPodsMetrics.create() });

  /** An API server of Pods, which evicts unless it has a fault. */
  const client: MissedPodsOptions["client"] = {
    get: ({ namespace = "", name }) => {
      reads.push(`${namespace}/${name}`);
      whileReading();
      const pod = pods.get(`${namespace}/${name}`);
      return pod === undefined ? Promise.reject(new KubeError("NOT_FOUND", "gone")) : Promise.resolve(pod);
    },
    create: ({ namespace = "", name = "" }, object, _signal, options) => {
      const { deleteOptions } = object as { deleteOptions: { preconditions: { uid: string } } };
      expect(options?.subresource).to.equal("eviction");
      if (fault !== undefined) return Promise.reject(fault);
      evictions.push(`${name} ${deleteOptions.preconditions.uid}`);
      remove(`${namespace}/${name}`);
      return Promise.resolve({ metadata: { name } });
    },
  };

  function add(
    name: string,
    owner?: { readonly kind: string; readonly name: string },
    rest: object = {},
    marks: Readonly<Record<string, string>> = annotations,
  ): void {
    const ownerReferences =
      owner === undefined
        ? []
        : [{ apiVersion: "apps/v1", ...owner, uid: `uid-of-${owner.name}`, controller: true }];
    const metadata: ObjectMeta = {
      namespace: "shop",
      name,
      uid: `uid-of-${name}`,
      annotations: marks,
      ownerReferences,
    };
    const pod = { metadata, spec: { containers: [{ name: "app" }] }, status: { phase: "Running" }, ...rest };
    pods.set(`shop/${name}`, pod);
    missed.seen(`shop/${name}`, pod.metadata);
  }

  function remove(key: string): void {
    pods.delete(key);
    missed.gone(key);
  }

  function start(policy: MissedPodsOptions["policy"]): void {
    clock = new ManualClock();
    metrics = allMetrics();
    missed = new MissedPods({
      client,
      events: { record: (event) => void events.push(event) },
      lookup: (...request) => lookup(...request),
      exempt: new Set(["kube-system"]),
      policy,
      context: { clock, logger: recordingLogger(), metrics },
    });
    abort = new AbortController();
    running = missed.run(abort.signal);
  }

  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  }

  beforeEach(() => {
    pods = new Map();
    [reads, evictions, events] = [[], [], []];
    whileReading = () => undefined;
    fault = undefined;
    lookup = () => fullEntry;
    start("report");
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  it("counts Pods that run without what they ask for, and tells their owner once", async () => {
    add("a", { kind: "StatefulSet", name: "db" });
    add("b");
    await advance(0);
    expect(metrics.missedPods.read("shop")).to.equal(2);
    const [first, other] = events;
    expect(first).to.deep.include({
      regarding: {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        namespace: "shop",
        name: "db",
        uid: "uid-of-db",
      },
      related: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "a", uid: "uid-of-a" },
      type: "Warning",
      reason: "Missed",
    });
    expect(first?.note).to.contain("kubectl rollout restart");
    expect(other?.regarding).to.deep.include({ kind: "Pod", name: "b" });
    missed.seen("shop/a", pods.get("shop/a")?.metadata ?? named);
    await advance(11 * minute);
    expect(reads.length, "they are read again now and then").to.equal(4);
    expect(events).to.have.lengthOf(2);
    remove("shop/a");
    remove("shop/b");
    expect(metrics.missedPods.read("shop")).to.equal(0);
  });

  it("counts none while another process leads, which sees what becomes of them, and all again afterwards", async () => {
    add("a");
    await advance(0);
    expect(metrics.missedPods.read("shop")).to.equal(1);
    abort.abort();
    await running;
    expect(metrics.missedPods.read("shop")).to.equal(0);
    abort = new AbortController();
    running = missed.run(abort.signal);
    expect(metrics.missedPods.read("shop")).to.equal(1);
  });

  it("neither counts nor evicts Pods of namespaces in which nobody injects: it would be in vain for ever", async () => {
    abort.abort();
    await running;
    start("evict");
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", controller: true };
    const metadata = { namespace: "kube-system", name: "a", uid: "1", annotations, ownerReferences: [owner] };
    pods.set("kube-system/a", { metadata, spec: { containers: [{ name: "app" }] } });
    missed.seen("kube-system/a", metadata);
    await advance(60 * minute);
    expect([reads, evictions, events]).to.deep.equal([[], [], []]);
  });

  it("reads a Pod once that somebody else has injected, and says nothing", async () => {
    add("a", undefined, { spec: { containers: [{ name: "app" }], initContainers: [{ name: "flagd" }] } });
    await advance(0);
    missed.seen("shop/a", pods.get("shop/a")?.metadata ?? named);
    await advance(60 * minute);
    expect([reads, events]).to.deep.equal([["shop/a"], []]);
    expect(metrics.missedPods.read("shop")).to.equal(0);
  });

  it("does not read Pods that say what became of them", async () => {
    const metadata = { name: "a", namespace: "shop", uid: "u" };
    missed.seen("shop/a", {
      ...metadata,
      annotations: { ...annotations, "bunting.dev/injected": "policy 1" },
    });
    await advance(0);
    expect(reads).to.deep.equal([]);
  });

  it("counts a Pod that came before its source once that is there, and reads it only then", async () => {
    lookup = () => ({ reason: "UnknownSource", message: "there is none" });
    const early = { ...annotations, "bunting.dev/not-injected": "UnknownSource" };
    add("a", { kind: "StatefulSet", name: "db" }, {}, early);
    add("b", undefined, {}, { ...annotations, "bunting.dev/not-injected": "HostNetwork" });
    await advance(5 * minute);
    expect([metrics.missedPods.read("shop"), reads, events]).to.deep.equal([0, [], []]);
    lookup = () => fullEntry;
    await advance(minute);
    expect([metrics.missedPods.read("shop"), reads]).to.deep.equal([1, ["shop/a"]]);
    expect(events[0]?.note)
      .to.contain("created before what it asks for was there")
      .and.contain("kubectl rollout restart");
  });

  it("does not wait for what no object can be called, and keeps nothing of it", async () => {
    let lookups = 0;
    lookup = () => {
      lookups++;
      return { reason: "UnknownSource", message: "there is none" };
    };
    const long = { "openfeature.dev/featureflagsource": "x".repeat(100_000) };
    add("a", undefined, {}, { ...annotations, ...long, "bunting.dev/not-injected": "UnknownSource" });
    await advance(5 * minute);
    expect([metrics.missedPods.read("shop"), reads, lookups]).to.deep.equal([0, [], 0]);
  });

  it("stops counting a Pod that has finished, or is another one of its name", async () => {
    add("a");
    add("b");
    await advance(0);
    pods.set("shop/a", { metadata: { name: "a" }, ...pods.get("shop/a"), status: { phase: "Succeeded" } });
    await advance(10 * minute);
    expect(metrics.missedPods.read("shop")).to.equal(1);
    const other = { ...annotations, "bunting.dev/injected": "policy 1" };
    missed.seen("shop/b", { name: "b", namespace: "shop", uid: "another", annotations: other });
    expect(metrics.missedPods.read("shop")).to.equal(0);
  });

  it("counts one Pod where another one of its name was missed as well", async () => {
    add("a");
    await advance(0);
    pods.set("shop/a", {
      ...pods.get("shop/a"),
      metadata: { ...(pods.get("shop/a")?.metadata ?? named), uid: "2" },
    });
    missed.seen("shop/a", pods.get("shop/a")?.metadata ?? named);
    await advance(0);
    expect([metrics.missedPods.read("shop"), events.length]).to.deep.equal([1, 2]);
  });

  it("forgets a Pod that goes while it is read", async () => {
    whileReading = () => missed.gone("shop/a");
    add("a");
    await advance(minute);
    expect([metrics.missedPods.read("shop"), reads, events]).to.deep.equal([0, ["shop/a"], []]);
  });

  it("says what keeps a Pod from being injected even now", async () => {
    lookup = () => ({ reason: "UnknownSource", message: "there is no FeatureFlagSource shop" });
    add("a");
    await advance(0);
    expect(events[0]?.note).to.contain("there is no FeatureFlagSource shop");
    lookup = () => fullEntry;
    add("b", undefined, { spec: { containers: [{ name: "app" }], hostNetwork: true } });
    await advance(0);
    expect(events[1]?.note).to.contain(notInjectedReasons.HostNetwork);
  });

  it("evicts nothing unless it is told to", async () => {
    add("a", { kind: "StatefulSet", name: "db" });
    await advance(60 * minute);
    expect(evictions).to.deep.equal([]);
  });

  describe("that evict", () => {
    beforeEach(async () => {
      abort.abort();
      await running;
      start("evict");
    });

    it("takes one Pod of a workload in 30 s, and those of several at once", async () => {
      for (const name of ["a", "b", "c"]) add(name, { kind: "StatefulSet", name: "db" });
      add("d", { kind: "DaemonSet", name: "log" });
      await advance(0);
      expect(evictions.sort()).to.deep.equal(["a uid-of-a", "d uid-of-d"]);
      await advance(29 * second);
      expect(evictions).to.have.lengthOf(2);
      await advance(second);
      expect(evictions).to.have.lengthOf(3);
      await advance(30 * second);
      expect(evictions).to.have.lengthOf(4);
      expect(metrics.missedPods.read("shop")).to.equal(0);
      expect(metrics.evicted.read("evicted")).to.equal(4);
      expect(events.filter(({ reason }) => reason === "Evicted")).to.have.lengthOf(4);
    });

    it("leaves alone what nothing would replace, and the work of Jobs", async () => {
      add("alone");
      add("job", { kind: "Job", name: "import" });
      await advance(60 * minute);
      expect(evictions).to.deep.equal([]);
    });

    it("waits until the Pod would be injected", async () => {
      lookup = () => ({ reason: "UnknownSource", message: "there is none" });
      add("a", { kind: "StatefulSet", name: "db" });
      await advance(5 * minute);
      expect(evictions).to.deep.equal([]);
      lookup = () => fullEntry;
      await advance(minute);
      expect(evictions).to.deep.equal(["a uid-of-a"]);
    });

    it("takes Pods that came before their source, once that is there", async () => {
      lookup = () => ({ reason: "NotShared", message: "it is not shared" });
      const early = { ...annotations, "bunting.dev/not-injected": "NotShared" };
      add("a", { kind: "StatefulSet", name: "db" }, {}, early);
      await advance(5 * minute);
      expect(evictions).to.deep.equal([]);
      lookup = () => fullEntry;
      await advance(minute);
      expect(evictions).to.deep.equal(["a uid-of-a"]);
    });

    it("tries again later where a PodDisruptionBudget holds it back", async () => {
      fault = new KubeError("THROTTLED", "the budget is used up", { retryAfterMs: 10 * second });
      add("a", { kind: "StatefulSet", name: "db" });
      await advance(0);
      fault = undefined;
      await advance(29 * second);
      expect([evictions.length, metrics.evicted.read("held-back")]).to.deep.equal([0, 1]);
      await advance(second);
      expect(evictions).to.have.lengthOf(1);
    });

    it("does not go on if those that come are missed as well, but tries once more after an hour", async () => {
      add("a", { kind: "StatefulSet", name: "db" });
      await advance(0);
      await advance(second);
      add("replacement", { kind: "StatefulSet", name: "db" });
      await advance(30 * minute);
      expect(evictions).to.deep.equal(["a uid-of-a"]);
      expect(events.at(-1)).to.deep.include({ reason: "EvictedInVain" });
      await advance(10 * minute);
      await advance(10 * minute);
      await advance(10 * minute);
      expect(evictions).to.have.lengthOf(2);
    });

    it("tries again after failures", async () => {
      fault = new KubeError("CONNECTION_LOST", "lost");
      add("a", { kind: "StatefulSet", name: "db" });
      await advance(0);
      fault = undefined;
      await advance(5 * second);
      expect(evictions).to.deep.equal(["a uid-of-a"]);
      expect(metrics.evicted.read("failed")).to.equal(1);
    });

    it("takes up what it left when it leads again", async () => {
      lookup = () => ({ reason: "UnknownSource", message: "there is none" });
      add("a", { kind: "StatefulSet", name: "db" });
      await advance(0);
      abort.abort();
      await running;
      lookup = () => fullEntry;
      abort = new AbortController();
      running = missed.run(abort.signal);
      await advance(0);
      expect(evictions).to.deep.equal(["a uid-of-a"]);
    });
  });
});
