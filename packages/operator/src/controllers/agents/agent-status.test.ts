import { KubeError, type Condition, type KubeObject } from "@bunting/kube";
import { createRegistry } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { AgentStatus, type CountedFeatureFlag } from "./agent-status.js";
import type { TopicAgents } from "./told-agents.js";

interface Scope {
  readonly namespace?: string;
  readonly name: string;
}
const key = "shop/checkout";
const metrics = operatorMetrics(createRegistry(false));

/** Proxies that say what a test has them say, and an API server with one FeatureFlag. */
class World {
  object: CountedFeatureFlag | undefined = {
    metadata: { namespace: "shop", name: "checkout", uid: "u", generation: 1 },
  };
  told: readonly TopicAgents[] | undefined = [];
  readonly writes: string[] = [];
  reads = 0;
  gets = 0;

  read(): Promise<readonly (readonly TopicAgents[])[] | undefined> {
    this.reads++;
    return Promise.resolve(this.told === undefined ? undefined : [this.told]);
  }

  get(): Promise<CountedFeatureFlag> {
    this.gets++;
    return this.object === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "gone"))
      : Promise.resolve(this.object);
  }

  apply(scope: Scope, written: object): Promise<KubeObject> {
    const { status } = written as CountedFeatureFlag;
    if (this.object === undefined || status === undefined) throw new Error("unexpected write");
    const { total, current, refusing } = status.agents ?? { total: -1, current: -1, refusing: -1 };
    const [, converged] = status.conditions ?? [];
    this.writes.push(
      `${scope.name} ${total} ${current} ${refusing} ${converged?.reason} ${converged?.observedGeneration}`,
    );
    this.object = { ...this.object, status };
    return Promise.resolve(this.object);
  }

  tell(change: Partial<TopicAgents> = {}): void {
    this.told = [{ topic: key, uid: "u", generation: 1, subscribers: 3, current: 3, refusing: 0, ...change }];
  }

  edit(): void {
    const { metadata } = this.object ?? { metadata: { name: "checkout" } };
    const generation = (metadata.generation ?? 0) + 1;
    this.object = { ...this.object, metadata: { ...metadata, generation } };
  }

  condition(type: string): Condition | undefined {
    return this.object?.status?.conditions?.find((each) => each.type === type);
  }
}

describe("AgentStatus", () => {
  let world: World;
  let clock: ManualClock;
  let status: AgentStatus;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    world = new World();
    clock = new ManualClock();
    status = new AgentStatus({
      client: world,
      proxies: world,
      context: { clock, logger: recordingLogger(), metrics },
    });
  });
  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  async function start(): Promise<void> {
    abort = new AbortController();
    running = status.run(abort.signal);
    await eventually(() => world.reads === 1, "the proxies are asked");
    await turns();
  }

  /** All that can be done without the clock is done. */
  async function turns(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits until the proxies were asked once more, and all that follows has been done. */
  async function look(): Promise<void> {
    const { reads } = world;
    clock.advance(5_000);
    await eventually(() => world.reads > reads, "the proxies are asked");
    await turns();
  }

  async function lookFor(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5_000) await look();
  }

  it("says how many agents there are, and nothing again while nothing changes", async () => {
    world.tell();
    await start();
    await eventually(() => world.writes.length === 1, "the first write");
    expect(world.writes).to.deep.equal(["checkout 3 3 0 AllCurrent 1"]);
    expect(world.condition("Served")).to.include({ status: "True", reason: "Served" });
    await lookFor(120_000);
    expect(world.writes).to.have.length(1);
  });

  it("follows an edit from behind to converged, at most once in 10 s", async () => {
    world.tell();
    await start();
    await lookFor(15_000);
    world.edit();
    world.tell({ generation: 2, current: 1 });
    await look();
    expect(world.writes).to.deep.equal(["checkout 3 3 0 AllCurrent 1", "checkout 3 1 0 AgentsBehind 2"]);
    const { lastTransitionTime } = world.condition("Converged") ?? {};
    world.tell({ generation: 2 });
    await look();
    expect(world.writes, "within 10 s").to.have.length(2);
    await look();
    expect(world.writes[2]).to.equal("checkout 3 3 0 AllCurrent 2");
    expect(world.condition("Converged")?.lastTransitionTime).to.not.equal(lastTransitionTime);
  });

  it("says how a remote flag provider is, and no more once there is none", async () => {
    world.tell({ remote: { state: "forbidden", message: "Secret shop/remote may not be read." } });
    await start();
    expect(world.condition("RemoteSynced")).to.include({ status: "False", reason: "CredentialsForbidden" });
    expect(world.condition("CredentialsForbidden")?.message).to.contain("shop/remote");
    world.tell({ remote: { state: "synced" } });
    await lookFor(10_000);
    expect(world.condition("RemoteSynced")).to.include({ status: "True", reason: "Synced" });
    expect(world.condition("CredentialsForbidden")).to.equal(undefined);
    world.tell();
    await lookFor(10_000);
    expect(world.condition("RemoteSynced")).to.equal(undefined);
    expect(world.condition("Served")?.status).to.equal("True");
    expect(world.writes).to.have.length(3);
  });

  it("says of Pods that come and go once a minute, when they have settled", async () => {
    world.tell();
    await start();
    await look();
    for (let subscribers = 4; subscribers < 16; subscribers++) {
      world.tell({ subscribers, current: subscribers });
      await look();
    }
    expect(world.writes[0]).to.equal("checkout 3 3 0 AllCurrent 1");
    expect(world.writes).to.have.length.within(1, 2);
    await lookFor(60_000);
    expect(world.writes.at(-1)).to.equal("checkout 15 15 0 AllCurrent 1");
    expect(world.writes).to.have.length.within(2, 3);
  });

  it("says of an edit that all agents have at once that it is about that, as kubectl wait goes by it", async () => {
    world.tell();
    await start();
    await lookFor(15_000);
    world.edit();
    world.tell({ generation: 2 });
    await look();
    expect(world.writes).to.deep.equal(["checkout 3 3 0 AllCurrent 1", "checkout 3 3 0 AllCurrent 2"]);
  });

  it("says nothing of agents that go and are back within half a minute, not even when there is an edit to speak of", async () => {
    world.tell();
    await start();
    await lookFor(60_000);
    world.tell({ subscribers: 0, current: 0 });
    await lookFor(20_000);
    world.tell();
    await lookFor(60_000);
    expect(world.writes.splice(0)).to.deep.equal(["checkout 3 3 0 AllCurrent 1"]);
    world.edit();
    world.tell({ generation: 2, current: 1 });
    await look();
    expect(world.writes.splice(0)).to.deep.equal(["checkout 3 1 0 AgentsBehind 2"]);
    world.tell({ generation: 2, current: 2, refusing: 1 });
    await look();
    // That is to be said 10 s after the last write, and by then a proxy that is replaced has ended their streams.
    for (const gone of [{ subscribers: 0, current: 0, generation: 2 }, undefined]) {
      if (gone === undefined) world.told = [];
      else world.tell(gone);
      await lookFor(20_000);
      world.tell({ generation: 2, current: 1 });
      await look();
    }
    expect(world.writes.filter((write) => write.includes("NoAgents"))).to.deep.equal([]);
  });

  it("says that all have left half a minute later, though proxies keep the topic for a while", async () => {
    world.tell();
    await start();
    await lookFor(60_000);
    world.tell({ subscribers: 0, current: 0 });
    await lookFor(25_000);
    expect(world.writes).to.have.length(1);
    await lookFor(10_000);
    expect(world.writes.slice(1)).to.deep.equal(["checkout 0 0 0 NoAgents 1"]);
  });

  it("says that nobody asks any more half a minute after that, and not when a proxy was only replaced", async () => {
    world.tell();
    await start();
    await lookFor(60_000);
    world.told = [];
    await lookFor(20_000);
    world.tell();
    await lookFor(60_000);
    expect(world.writes).to.deep.equal(["checkout 3 3 0 AllCurrent 1"]);
    world.told = [];
    await lookFor(40_000);
    expect(world.writes.slice(1)).to.deep.equal(["checkout 0 0 0 NoAgents 1"]);
  });

  it("leaves all as it is while a proxy does not answer", async () => {
    world.tell();
    await start();
    await look();
    world.told = undefined;
    await lookFor(120_000);
    expect(world.writes).to.have.length(1);
    world.tell({ refusing: 2 });
    await look();
    expect(world.writes[1]).to.equal("checkout 3 3 2 AgentsRefuse 1");
  });

  for (const when of ["before", "after"] as const) {
    it(`takes back what an earlier leader said of agents that are gone, if it is seen ${when} the proxies are asked`, async () => {
      world.object = {
        metadata: { namespace: "shop", name: "checkout", uid: "u", generation: 1 },
        status: { agents: { total: 7, current: 7, refusing: 0 } },
      };
      if (when === "before") status.counted(key);
      await start();
      if (when === "after") status.counted(key);
      await lookFor(40_000);
      expect(world.writes).to.deep.equal(["checkout 0 0 0 NoAgents 1"]);
    });
  }

  it("forgets a FeatureFlag that is gone, and says nothing of one that no agent ever asked for", async () => {
    world.tell();
    await start();
    await look();
    world.object = undefined;
    world.tell({ generation: 2 });
    await lookFor(60_000);
    world.told = [];
    await lookFor(60_000);
    expect(world.writes).to.have.length(1);
    expect(world.reads).to.be.greaterThan(3);
  });

  it("reads only so many FeatureFlags, however many agents let their acknowledgements come and go", async () => {
    const toggle = (current: number): void => {
      const ofAll = { uid: "u", generation: 1, subscribers: 1, current, refusing: 0 };
      world.told = Array.from({ length: 600 }, (_, index) => ({ ...ofAll, topic: `shop/f${index}` }));
    };
    world.object = undefined;
    toggle(0);
    await start();
    for (let round = 1; round <= 6; round++) {
      toggle(round % 2);
      await look();
    }
    // A burst, and then 20 a second.
    expect(world.gets).to.be.within(201, 200 + 30 * 20);
  });

  it("writes once a minute what changes all the time, whoever makes proxies tell it, and an edit at once", async () => {
    world.tell();
    await start();
    const minutes = 10;
    for (let round = 0; round < minutes * 12; round++) {
      world.tell({ current: round % 2 === 0 ? 2 : 3 });
      await look();
    }
    expect(world.writes.length).to.be.within(6, 7 + minutes);
    world.edit();
    world.tell({ generation: 2, current: 3 });
    await lookFor(15_000);
    expect(world.writes.at(-1)).to.equal("checkout 3 3 0 AllCurrent 2");
  });
});
