import { expect } from "chai";
import fc from "fast-check";
import { isInFlight } from "./agent-record.js";
import type { PodChange } from "./agent-step.js";
import { newImage, oldImage, podOf, settingsOf, without } from "./fleet.fixture.js";
import type { FleetAgent, FleetBudget, FleetPod, FleetPull, FleetRollout, RolloutProgress } from "./fleet.js";
import { planFleet, type RolloutVerdict } from "./plan.js";
import { workloadLimit, type RolloutSettings } from "./rollout-settings.js";

/** What becomes of a sidecar that gets the new image. */
type Fate = "runs" | "does not start" | "is not ready" | "restarts" | "dies later" | "gets no flags";
type Pod = FleetPod & { readonly agent: FleetAgent };

const fates: readonly Fate[] = ["does not start", "is not ready", "restarts", "dies later", "gets no flags"];

interface Setup {
  /** Of each Pod: its workload, node and fate. */
  readonly pods: readonly { readonly workload: number; readonly node: number; readonly fate: Fate }[];
  /** How many Pods of each workload its budget lets be missing; undefined: it has none. */
  readonly budgets: readonly (number | undefined)[];
  readonly settings: Partial<RolloutSettings>;
}

type Command =
  /** The kubelet of a Pod does one thing. */
  | { readonly kind: "kubelet" | "flaps" | "replaced"; readonly pod: number }
  /** The controller of PodDisruptionBudgets counts again. */
  | { readonly kind: "disruption" | "pause" }
  /** The proxies say no longer who has their flags, or say it again. */
  | { readonly kind: "proxies" }
  /** A node gets on with an image. */
  | { readonly kind: "pull"; readonly of: number }
  /** The operator plans, and is interrupted after so many writes. */
  | { readonly kind: "operator"; readonly writes: number; readonly kubelet: number }
  | { readonly kind: "time"; readonly ms: number };

const setups = (fate: fc.Arbitrary<Fate>): fc.Arbitrary<Setup> =>
  fc.record({
    pods: fc.array(fc.record({ workload: fc.nat(2), node: fc.nat(3), fate }), {
      minLength: 1,
      maxLength: 14,
    }),
    budgets: fc.array(fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }), {
      minLength: 3,
      maxLength: 3,
    }),
    settings: fc.record({
      prePulls: fc.boolean(),
      maxUnavailable: fc.oneof(
        fc.record({ pods: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ percent: fc.constantFrom(10, 25, 50, 100) }),
      ),
      maxInFlight: fc.integer({ min: 1, max: 6 }),
      perNode: fc.integer({ min: 1, max: 3 }),
      failureThreshold: fc.integer({ min: 1, max: 4 }),
    }),
  });

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("kubelet" as const), pod: fc.nat(13) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("flaps" as const, "flaps" as const, "replaced" as const),
      pod: fc.nat(13),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("disruption" as const, "disruption" as const, "pause" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("proxies" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pull" as const), of: fc.nat(3) }) },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant("operator" as const), writes: fc.nat(8), kubelet: fc.nat(13) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.constantFrom(1_000, 30_000, 120_000) }),
  },
);

/** A cluster: Pods with kubelets, budgets that are counted now and then, and an operator that may be interrupted after each write. */
class World {
  readonly settings: RolloutSettings;
  readonly #setup: Setup;
  readonly pods: Pod[];
  #budgets: FleetBudget[] = [];
  #pulls: FleetPull[] = [];
  #nowMs = 1_000_000;
  #version = 1;
  /** As it is stored in the status. */
  #progress: RolloutProgress | undefined;
  #verdict: RolloutVerdict | undefined;
  #isPaused = false;
  #areProxiesUnknown = false;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.settings = settingsOf(setup.settings);
    this.pods = setup.pods.map(({ workload, node }, index) =>
      podOf(
        `p${index}`,
        {},
        { workload: `w${workload}`, node: `n${node}`, labels: { app: `w${workload}` }, createdMs: 0 },
      ),
    );
    this.count();
  }

  get phase(): string | undefined {
    return this.#verdict?.phase;
  }

  run(one: Command): void {
    switch (one.kind) {
      case "kubelet": {
        this.kubelet(one.pod % this.pods.length);
        return;
      }
      case "flaps": {
        this.#flap(one.pod % this.pods.length);
        return;
      }
      case "replaced": {
        this.#replace(one.pod % this.pods.length);
        return;
      }
      case "disruption": {
        this.count();
        return;
      }
      case "operator": {
        this.operate(one.writes, one.kubelet % this.pods.length);
        return;
      }
      case "time":
        this.#nowMs += one.ms;
        return;
      case "pull":
        this.pull(one.of);
        return;
      case "proxies":
        this.#areProxiesUnknown = !this.#areProxiesUnknown;
        return;
      case "pause":
        this.#isPaused = !this.#isPaused;
        return;
    }
  }

  /** Counts budgets again, as their controller does some time after each change. */
  count(): void {
    this.#budgets = this.#setup.budgets.flatMap((missing, index): readonly FleetBudget[] => {
      if (missing === undefined) return [];
      const own = this.pods.filter(({ workload }) => workload === `w${index}`);
      const allowed = missing - own.filter(({ isReady }) => !isReady).length;
      const selector = { matchLabels: { app: `w${index}` } };
      return [{ namespace: "shop", name: `w${index}`, selector, allowed: Math.max(0, allowed) }];
    });
  }

  kubelet(index: number): void {
    const pod = this.#pod(index);
    const { agent } = pod;
    const wanted = `id:${agent.image}`;
    const fate = agent.image === newImage ? (this.#setup.pods[index]?.fate ?? "runs") : "runs";
    if (agent.imageID !== wanted || !agent.isStarted) {
      if (agent.isStarted)
        this.#set(index, { isReady: false }, { isStarted: false, isReady: false, imageID: agent.imageID });
      else if (fate === "does not start") this.#set(index, {}, { trouble: "ErrImagePull" });
      else this.#startContainer(index, wanted);
      return;
    }
    if (fate === "restarts" && agent.restarts < 20)
      this.#set(index, { isReady: false }, { restarts: agent.restarts + 1 });
    else if (fate === "is not ready" || fate === "restarts") return;
    else if (fate === "dies later" && agent.isReady && agent.record?.state === "observing")
      this.#set(index, { isReady: false }, { isReady: false, restarts: agent.restarts + 1 });
    else if (fate !== "dies later" || agent.record?.state !== "observing")
      this.#set(index, { isReady: true }, { isReady: true });
  }

  /** Plans once, and makes so many of the changes; after the first of them, a kubelet does something. */
  operate(writes = Infinity, kubelet?: number): void {
    const rollout = this.#rollout();
    const { changes, verdicts } = planFleet(
      {
        rollouts: [rollout],
        pods: this.pods.map((pod, index) => this.#told(pod, index)),
        areProxiesUnknown: this.#areProxiesUnknown,
        budgets: this.#budgets,
        pulls: this.#pulls,
        namespaces: new Map([["shop", {}]]),
      },
      this.#nowMs,
    );
    this.#expectOthersReady(changes);
    let left = writes;
    for (const [index, change] of changes.entries()) {
      if (left-- === 0) return;
      this.#write(change);
      if (index === 0 && kubelet !== undefined) this.kubelet(kubelet);
    }
    if (left <= 0) return;
    for (const node of verdicts[0]?.pulls.create ?? []) this.#startPull(node);
    for (const { name } of verdicts[0]?.pulls.remove ?? [])
      this.#pulls = this.#pulls.filter((each) => each.name !== name);
    this.#verdict = verdicts[0];
    this.#progress = verdicts[0]?.progress;
  }

  /** Lets everything come to rest: no more is interrupted, and Pods that flap are ready again. */
  settle(): void {
    this.#isPaused = false;
    this.#areProxiesUnknown = false;
    for (let round = 0; round < 400; round++) {
      for (let turn = 0; turn < 3; turn++) for (const index of this.pods.keys()) this.kubelet(index);
      for (const index of this.#pulls.keys()) this.pull(index);
      this.count();
      this.operate();
      this.#nowMs += 31_000;
    }
  }

  pull(index: number): void {
    const pull = this.#pulls[index];
    if (pull !== undefined) this.#pulls[index] = { ...pull, state: "pulled" };
  }

  #startPull(node: string): void {
    const createdMs = this.#nowMs;
    this.#pulls.push({ name: node, rollout: "u", node, image: newImage, createdMs, state: "pulling" });
    const open = this.#pulls.filter(
      ({ state, createdMs: since }) => state === "pulling" && this.#nowMs < since + this.settings.deadlineMs,
    );
    expect(open.length, "nodes that pull").to.be.most(this.settings.maxInFlight);
  }

  /** With what the proxies say of it, if it has to prove itself. */
  #told(pod: Pod, index: number): Pod {
    const { agent } = pod;
    if (agent.record?.isServed !== true) return pod;
    const gets = agent.image === oldImage || this.#setup.pods[index]?.fate !== "gets no flags";
    const known = gets && agent.isReady ? "current" : "behind";
    return { ...pod, agent: { ...agent, served: this.#areProxiesUnknown ? "unknown" : known } };
  }

  #rollout(): FleetRollout {
    const settings = { ...this.settings, isPaused: this.#isPaused };
    const written = this.#progress === undefined ? {} : { progress: this.#progress };
    return { name: "agents", uid: "u", createdMs: 0, settings, ...written };
  }

  #startContainer(index: number, imageID: string): void {
    const { agent } = this.#pod(index);
    const rest = without(agent, "trouble");
    const started = { ...rest, imageID, isStarted: true, isReady: false, restarts: agent.restarts + 1 };
    this.pods[index] = { ...this.#pod(index), resourceVersion: String(++this.#version), agent: started };
  }

  /** A Pod whose application is not ready for a while. */
  #flap(index: number): void {
    this.#set(index, { isReady: false }, {});
  }

  /** Its workload has it replaced, by one of the old image. */
  #replace(index: number): void {
    const { workload, node, labels } = this.#pod(index);
    const name = `p${index}-${++this.#version}`;
    this.pods[index] = podOf(name, {}, { workload, node, labels, createdMs: this.#nowMs });
  }

  /** What API servers do: a Pod that has changed meanwhile is not written. */
  #write({ pod, image, previous, record }: PodChange): void {
    const index = this.pods.findIndex(({ uid }) => uid === pod.uid);
    if (index === -1 || this.#pod(index).resourceVersion !== pod.resourceVersion) return;
    if (record.state === "updating" && previous !== undefined && this.settings.prePulls)
      expect(this.#pulls.some(({ node, state }) => node === pod.node && state === "pulled")).to.equal(true);
    const noted = previous === undefined ? record : { ...record, isServed: true };
    this.#set(index, {}, { image, record: noted, ...(previous === undefined ? {} : { previous }) });
    this.#expectBudgets();
  }

  #pod(index: number): Pod {
    const pod = this.pods[index];
    if (pod === undefined) throw new Error(`there is no Pod ${index}`);
    return pod;
  }

  #set(index: number, pod: Partial<FleetPod>, agent: Partial<FleetAgent>): void {
    const before = this.#pod(index);
    const resourceVersion = String(++this.#version);
    this.pods[index] = { ...before, ...pod, resourceVersion, agent: { ...before.agent, ...agent } };
  }

  #expectOthersReady(changes: readonly PodChange[]): void {
    const begun = changes.filter(({ record: { state } }) => state === "updating" || state === "reverting");
    for (const { pod } of begun.filter((each) => each.pod.isReady)) {
      const others = this.pods.filter(
        (other) =>
          other.workload === pod.workload && other.uid !== pod.uid && !isInFlight(other.agent.record),
      );
      expect(others.every(({ isReady }) => isReady)).to.equal(true);
    }
  }

  #expectBudgets(): void {
    const inFlight = this.pods.filter(({ agent }) => isInFlight(agent.record));
    const most = (of: (pod: Pod) => string): [string, number][] => {
      const counts = new Map<string, number>();
      for (const pod of inFlight) counts.set(of(pod), (counts.get(of(pod)) ?? 0) + 1);
      return [...counts];
    };
    const { settings } = this;
    expect(inFlight.length, "in all").to.be.most(settings.maxInFlight);
    for (const [node, count] of most(({ node: name }) => name))
      expect(count, node).to.be.most(settings.perNode);
    // Pods that were not ready when they went back were missing before.
    const taken = inFlight.filter(({ agent }) => agent.record?.state !== "reverting");
    for (const [index, missing] of this.#setup.budgets.entries()) {
      const own = taken.filter(({ workload }) => workload === `w${index}`);
      const size = this.pods.filter(({ workload }) => workload === `w${index}`).length;
      expect(own.length, `workload ${index}`).to.be.most(workloadLimit(settings, size));
      if (missing !== undefined) expect(own.length, `budget ${index}`).to.be.most(missing);
    }
  }
}

const runs = (fate: fc.Arbitrary<Fate>, check: (world: World, setup: Setup) => void): void => {
  fc.assert(
    fc.property(
      setups(fate),
      fc.array(command, { minLength: 5, maxLength: 120, size: "max" }),
      (setup, commands) => {
        const world = new World(setup);
        for (const one of commands) world.run(one);
        world.settle();
        check(world, setup);
      },
    ),
    { numRuns: Number(process.env["BUNTING_MODEL_RUNS"] ?? 80) },
  );
};

describe("planFleet, whatever happens between its writes", function () {
  this.timeout(120_000);

  it("exceeds no budget, and gives every sidecar an image that runs", () => {
    runs(fc.constant("runs"), (world) => {
      expect(world.phase).to.be.oneOf(["Completed", "Halted"]);
      if (world.phase !== "Completed") return;
      for (const { agent } of world.pods)
        expect(agent.image, agent.record?.why).to.equal(
          agent.record?.state === "failed" ? oldImage : newImage,
        );
    });
  });

  it("ends every halt with the old image everywhere, and every Pod ready", () => {
    let halts = 0;
    runs(fc.constantFrom<Fate>("runs", ...fates), (world, { pods }) => {
      expect(world.phase).to.be.oneOf(["Completed", "Halted"]);
      if (world.phase === "Halted") halts++;
      for (const [index, { agent, isReady }] of world.pods.entries()) {
        if (pods[index]?.fate === "gets no flags") expect(agent.image, "unproven").to.equal(oldImage);
        if (world.phase === "Halted") expect(agent.image).to.equal(oldImage);
        expect(agent.image).to.be.oneOf([oldImage, newImage]);
        expect(isInFlight(agent.record)).to.equal(false);
        expect(isReady).to.equal(true);
      }
    });
    expect(halts, "how many have halted").to.be.greaterThan(20);
  });
});
