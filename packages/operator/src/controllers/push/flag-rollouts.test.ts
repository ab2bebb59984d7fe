import { KubeError, type Condition, type KubeObject } from "@bunting/kube";
import {
  decodeWhole,
  encodeWhole,
  rolloutAnnotations,
  type FlagRolloutStatus,
} from "@bunting/featureflags/resources";
import {
  atOnce,
  digestingDocument,
  documentOfFeatureFlag,
  encodeDocument,
  type FlagDocument,
  type TrialCounts,
} from "@bunting/protocol";
import { createRegistry } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import type { TopicAgents } from "../agents/told-agents.js";
import { FlagRollouts } from "./flag-rollouts.js";
import type { RolledOutFeatureFlag } from "./new-rollout-status.js";

const key = "shop/checkout";
const registry = createRegistry(false);
const metrics = operatorMetrics(registry);

function flags(version: number | string): FlagDocument {
  const flag = { state: "ENABLED", variants: { a: version }, defaultVariant: "a" };
  return { flags: { f: flag } };
}
const digestOf = (version: number): string => atOnce(digestingDocument(flags(version)));

interface RolloutFields {
  readonly rollout?: FlagRolloutStatus;
  readonly conditions?: readonly Condition[];
}

/** One FeatureFlag at an API server, and a proxy with a hundred agents, of which one in a hundred is in the first wave. */
class World {
  object: (RolledOutFeatureFlag & { readonly status?: RolloutFields }) | undefined = {
    metadata: { namespace: "shop", name: "checkout", uid: "u", generation: 1 },
    spec: { flagSpec: flags(1), rollout: { observe: "20s" } },
  };
  /** What the proxy says beside what it is told; `silent`: it does not answer. */
  says: Partial<TrialCounts> | "silent" = {};
  /** A field that the definition of the type does not have. */
  forgets: keyof FlagRolloutStatus | undefined;
  writes: RolloutFields[] = [];
  reads = 0;
  readonly events: string[] = [];
  /** Happens while the proxies are asked, the next time. */
  meanwhile: (() => void) | undefined;
  #version = 1;

  read(): Promise<readonly (readonly TopicAgents[])[] | undefined> {
    this.reads++;
    this.meanwhile?.();
    this.meanwhile = undefined;
    if (this.says === "silent") return Promise.resolve(undefined);
    const { rollout } = this.object?.status ?? {};
    const digest = atOnce(digestingDocument(documentOfFeatureFlag(this.object ?? {}).document));
    const reach = rollout?.digest === digest ? rollout.reach : 0;
    const wave = Math.ceil(reach / 100);
    const trial = { digest, reach, agents: 100, lowest: 0, wave, current: wave, refusals: 0, ...this.says };
    return Promise.resolve([
      [{ topic: key, uid: "u", generation: 1, subscribers: 100, current: 0, refusing: 0, trial }],
    ]);
  }

  get(): Promise<KubeObject> {
    return this.object === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "gone"))
      : Promise.resolve({
          ...this.object,
          metadata: { ...this.object.metadata, resourceVersion: `${this.#version}` },
        });
  }

  apply(_: unknown, written: object): Promise<KubeObject> {
    const { metadata, status = {} } = written as KubeObject & { readonly status?: RolloutFields };
    if (this.object === undefined) throw new Error("unexpected write");
    const { resourceVersion } = metadata;
    if (resourceVersion !== undefined && resourceVersion !== `${this.#version}`)
      return Promise.reject(new KubeError("CONFLICT", "it has been modified"));
    this.#version++;
    this.writes.push(status);
    const { forgets } = this;
    const rollout = status.rollout && { ...status.rollout, ...(forgets && { [forgets]: undefined }) };
    this.object = { ...this.object, status: { ...status, ...(rollout && { rollout }) } };
    return Promise.resolve(this.object);
  }

  edit(version: number | string, rollout: object | "none" = this.object?.spec?.rollout ?? {}): void {
    const { metadata } = this.object ?? { metadata: { name: "checkout" } };
    this.#version++;
    this.object = {
      ...this.object,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { flagSpec: flags(version), ...(rollout === "none" ? {} : { rollout }) },
    };
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    const { metadata } = this.object ?? { metadata: { name: "checkout" } };
    this.#version++;
    this.object = { ...this.object, metadata: { ...metadata, annotations } };
  }

  /** The status as it is now, in a few words. */
  get shown(): string {
    const { rollout, conditions } = this.object?.status ?? {};
    const version = [1, 2, 3].find((one) => digestOf(one) === rollout?.digest);
    return `${version} ${rollout?.phase} ${rollout?.wave} ${rollout?.reach} ${conditions?.[0]?.status}`;
  }

  get whole(): string | undefined {
    const { whole } = this.object?.status?.rollout ?? {};
    const document = whole === undefined ? undefined : decodeWhole(whole);
    return document === undefined ? undefined : encodeDocument(document);
  }
}

const haltedSeries = `bunting_operator_flag_rollout_halted{flag="${key}"} 1`;

describe("FlagRollouts", () => {
  let world: World;
  let clock: ManualClock;
  let rollouts: FlagRollouts;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    world = new World();
    clock = new ManualClock();
    rollouts = operator(true);
    start();
    await changed();
  });
  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  function start(): void {
    abort = new AbortController();
    running = rollouts.run(abort.signal);
  }

  function operator(asksProxies: boolean): FlagRollouts {
    return new FlagRollouts({
      client: world,
      proxies: asksProxies ? world : undefined,
      events: {
        record: ({ type, reason, regarding }) =>
          void world.events.push(`${type} ${reason} ${regarding.name}`),
      },
      context: { clock, logger: recordingLogger(), metrics },
    });
  }

  /** An operator with these settings in place of the one before. */
  async function replaceOperator(asksProxies: boolean): Promise<void> {
    abort.abort();
    await running;
    rollouts = operator(asksProxies);
    start();
    await changed();
    await pass(10_000);
  }

  /** The FeatureFlag has changed; all that can be done without the clock is done. */
  async function changed(): Promise<void> {
    rollouts.changed(key);
    await turns();
  }

  async function turns(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await turns();
    }
  }

  /** The series of the gauge. */
  async function halted(): Promise<readonly string[]> {
    const lines = (await registry.metrics()).split("\n");
    return lines.filter((line) => line.startsWith("bunting_operator_flag_rollout_halted"));
  }

  it("keeps the first version that it sees as the one that all are to have", () => {
    expect(world.shown).to.equal(`1 Whole 3 0 True`);
    expect(world.whole).to.equal(encodeDocument(flags(1)));
    expect(world.reads, "no proxy has to be asked").to.equal(0);
  });

  it("has another leader miss the agents of a wave that have gone while nobody led, for few writes", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    const tried = (): number | undefined => world.object?.status?.rollout?.tried;
    const before = world.writes.length;
    for (let there = 1; there <= 40; there++) {
      world.says = { wave: there, current: there - 1 };
      await pass(12_000);
    }
    expect(tried()).to.be.within(32, 40);
    expect(world.writes.length - before, "1, 2, 4 … 32, and the sentence").to.be.below(9);
    abort.abort();
    await running;
    world.says = { wave: 7, current: 7 };
    start();
    await changed();
    await pass(60_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    expect(world.object?.status?.conditions?.[0]?.message).to.contain("agents that were to try it have gone");
    world.says = { wave: 30, current: 30 };
    await pass(60_000);
    expect(world.shown, "they are back").to.equal("2 Whole 3 0 True");
  });

  it("writes no number again and again that the definition of the type does not know", async () => {
    world.forgets = "tried";
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { wave: 9, current: 8 };
    await pass(120_000);
    const before = world.writes.length;
    await pass(240_000);
    expect(world.writes.length).to.equal(before);
  });

  it("has an edit go on from wave to wave, and then be for all", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    expect(world.whole).to.equal(encodeDocument(flags(1)));
    await pass(19_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    await pass(7_000);
    expect(world.shown).to.equal("2 Progressing 2 1000 False");
    await pass(30_000);
    expect(world.shown).to.equal("2 Whole 3 0 True");
    expect([world.whole, world.object?.status?.rollout?.whole.generation]).to.deep.equal([
      encodeDocument(flags(2)),
      2,
    ]);
    const { length } = world.writes;
    await pass(120_000);
    expect(world.writes, "nothing changes").to.have.length(length);
  });

  it("halts, and says why and what to do; goes on when it is resumed", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1, reason: "f: it has no variant b" };
    await pass(12_000);
    expect(world.shown).to.equal("2 Halted 1 100 False");
    const { message } = world.object?.status?.conditions?.[0] ?? {};
    expect(message).to.contain("f: it has no variant b").and.contain("bunting rollout abort");
    expect(world.events).to.deep.equal(["Normal Progressing checkout", "Warning Halted checkout"]);
    expect(await halted()).to.deep.equal([haltedSeries]);
    await pass(60_000);
    expect(world.shown).to.equal("2 Halted 1 100 False");
    world.annotate({ [rolloutAnnotations.resumed]: "now" });
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    expect(await halted(), "the gauge has no series any more").to.deep.equal([]);
    await pass(60_000);
    expect(world.shown).to.equal("2 Whole 3 0 True");
    expect(world.events.slice(2)).to.deep.equal(["Normal Progressing checkout", "Normal Whole checkout"]);
  });

  it("does not call a rollout halted any more once it does not lead, or the FeatureFlag is gone", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1 };
    await pass(12_000);
    abort.abort();
    await running;
    expect(await halted()).to.deep.equal([]);
    start();
    await changed();
    expect(await halted(), "the next leader").to.deep.equal([haltedSeries]);
    world.object = undefined;
    await changed();
    expect(await halted()).to.deep.equal([]);
  });

  it("gives a version up, and rolls out the next", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.annotate({ [rolloutAnnotations.aborted]: digestOf(2).slice(0, 12) });
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("2 Aborted 0 0 False");
    world.edit(3);
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("3 Progressing 1 100 False");
    expect(world.whole).to.equal(encodeDocument(flags(1)));
  });

  it("asks the proxies once a second, however often the FeatureFlag is edited, and rolls out the last version", async () => {
    await pass(10_000);
    for (let edit = 0; edit < 100; edit++) {
      world.edit(edit % 2 === 0 ? 2 : 3);
      await changed();
      clock.advance(100);
      await turns();
    }
    expect(world.reads).to.be.at.most(11);
    expect(world.writes.length, "of the status").to.be.at.most(4);
    await pass(70_000);
    expect(world.shown).to.equal("3 Whole 3 0 True");
  });

  /** All is well in the last wave of version 2, of which the time of observation is nearly over. */
  async function lastMoment(): Promise<void> {
    world.edit(2, { waves: [1], observe: "20s" });
    await pass(10_000);
    await changed();
    await pass(20_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
  }

  it("does not have a version be for all that is given up while the proxies are asked", async () => {
    await lastMoment();
    world.meanwhile = () => world.annotate({ [rolloutAnnotations.aborted]: digestOf(2) });
    await pass(30_000);
    expect(world.shown).to.equal("2 Aborted 0 0 False");
    expect(world.whole).to.equal(encodeDocument(flags(1)));
  });

  it("does not have a version be for all that is taken back while the proxies are asked, and roll the one before out", async () => {
    await lastMoment();
    world.meanwhile = () => world.edit(1);
    await pass(30_000);
    expect(world.shown).to.equal("1 Whole 2 0 True");
    for (const { rollout } of world.writes) expect(rollout?.whole.digest).to.equal(digestOf(1));
  });

  it("begins no wave while the proxies are asked after it was paused", async () => {
    await lastMoment();
    world.meanwhile = () => world.edit(2, { waves: [1], observe: "20s", paused: true });
    await pass(30_000);
    expect(world.shown).to.equal("2 Paused 1 100 False");
  });

  it("halts by a complaint of an agent that is gone right after it", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1, reason: "f: no" };
    await pass(5_000);
    world.says = {};
    await pass(60_000);
    expect(world.shown).to.equal("2 Halted 1 100 False");
  });

  it("observes a wave anew whose flags could not be served for a while", async () => {
    await lastMoment();
    const { object } = world;
    world.object = { ...object, metadata: { name: "checkout" }, spec: { flagSpec: 1, rollout: {} } };
    await changed();
    world.object = object;
    await changed();
    await pass(19_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    await pass(10_000);
    expect(world.shown).to.equal("2 Whole 2 0 True");
  });

  it("begins the next wave as soon as it may, where something else of the FeatureFlag is changed while the proxies are asked", async () => {
    world.edit(2, { waves: [1, 10], observe: "20s" });
    await pass(10_000);
    await changed();
    await pass(20_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    let conflicts = 0;
    world.meanwhile = () => {
      conflicts++;
      world.annotate({ other: "1" });
    };
    await pass(8_000);
    expect(conflicts).to.equal(1);
    expect(world.shown).to.equal("2 Progressing 2 1000 False");
  });

  it("calls no rollout halted that it has ended, where nobody asks the proxies any more", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1 };
    await pass(12_000);
    await replaceOperator(false);
    expect(await halted()).to.deep.equal([haltedSeries]);
    world.edit(3);
    await changed();
    expect(world.object?.status).to.deep.equal({});
    expect(await halted()).to.deep.equal([]);
  });

  it("leaves no version behind that holds edits up, where nobody asks the proxies any more", async () => {
    await replaceOperator(false);
    expect(world.object?.status).to.deep.equal({});
    await replaceOperator(true);
    world.edit(2);
    await changed();
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    await replaceOperator(false);
    expect(world.object?.status).to.deep.equal({});
  });

  const resumed = (): void => world.annotate({ [rolloutAnnotations.resumed]: "now" });
  for (const [phase, stop, goOn] of [
    ["Halted", () => void (world.says = { refusals: 1 }), () => world.edit(3)],
    ["Halted", () => void (world.says = { refusals: 1 }), resumed],
    [
      "Aborted",
      () => world.annotate({ [rolloutAnnotations.aborted]: digestOf(2) }),
      () => world.annotate({}),
    ],
    ["Paused", () => world.edit(2, { paused: true }), () => world.edit(2, {})],
  ] as const)
    it(`keeps a version from all that is ${phase}, where nobody asks the proxies any more, until it is edited or resumed`, async () => {
      await pass(10_000);
      world.edit(2);
      await changed();
      stop();
      await changed();
      await pass(12_000);
      await replaceOperator(false);
      expect(world.object?.status?.rollout?.phase).to.equal(phase);
      expect(world.whole).to.equal(encodeDocument(flags(1)));
      goOn();
      await changed();
      expect(world.object?.status).to.deep.equal({});
    });

  it("goes on from where an earlier leader was, and observes anew", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    await pass(15_000);
    abort.abort();
    await running;
    start();
    await changed();
    await pass(15_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    await pass(10_000);
    expect(world.shown).to.equal("2 Progressing 2 1000 False");
  });

  it("takes the newest version for the first where its status has other flags under the name of a version", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    const { rollout } = world.object?.status ?? {};
    if (rollout === undefined) throw new Error("nothing is stored");
    const spoofed = { ...rollout, whole: { ...rollout.whole, document: encodeWhole(flags(3)) ?? "" } };
    world.object = { ...world.object, metadata: { name: "checkout" }, status: { rollout: spoofed } };
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("2 Whole 3 0 True");
    expect(world.whole).to.equal(encodeDocument(flags(2)));
  });

  it("does not follow an order, nor keep it, that is longer than any of ours", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1, reason: "f: no" };
    await pass(12_000);
    expect(world.shown).to.equal("2 Halted 1 100 False");
    world.annotate({ [rolloutAnnotations.resumed]: "x".repeat(65) });
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("2 Halted 1 100 False");
    world.annotate({ [rolloutAnnotations.resumed]: "x".repeat(64) });
    await changed();
    await pass(12_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
  });

  it("leaves all as it is while a proxy does not say what agents it has", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = "silent";
    await pass(120_000);
    expect(world.shown).to.equal("2 Progressing 1 100 False");
    expect(world.object?.status?.conditions?.[0]?.message).to.contain("a proxy does not say");
    expect(world.writes.length, "of the sentence, once").to.equal(3);
  });

  it("takes back what it said when spec.rollout is removed", async () => {
    world.edit(1, "none");
    await changed();
    expect(world.object?.status).to.deep.equal({});
    const { length } = world.writes;
    await changed();
    expect(world.writes).to.have.length(length);
  });

  it("has flags go to all at once that are too large to be kept beside the next, and says so once", async () => {
    await pass(10_000);
    const metadata = { namespace: "shop", name: "checkout", uid: "v", generation: 1 };
    world.object = { metadata };
    world.edit(randomBytes(600_000).toString("base64"), {});
    world.writes = [];
    await changed();
    expect(world.object.status?.rollout).to.equal(undefined);
    expect(world.object.status?.conditions?.[0]).to.include({ status: "False", reason: "TooLarge" });
    await changed();
    await pass(70_000);
    expect(world.writes).to.have.length(1);
    world.object = { ...world.object, spec: { ...world.object.spec, rollout: null } };
    await changed();
    expect(world.object.status, "nothing is said once spec.rollout is removed").to.deep.equal({});
  });

  it("calls no rollout halted whose FeatureFlag has an invalid version by now", async () => {
    await pass(10_000);
    world.edit(2);
    await changed();
    world.says = { refusals: 1 };
    await pass(12_000);
    expect(await halted()).to.deep.equal([haltedSeries]);
    const valid = world.object;
    world.object = {
      ...world.object,
      metadata: { name: "checkout" },
      spec: { flagSpec: { flags: { f: { state: 1 } } }, rollout: {} },
    };
    await changed();
    expect(await halted()).to.deep.equal([]);
    world.object = valid;
    await changed();
    expect(await halted(), "it is taken back").to.deep.equal([haltedSeries]);
  });

  it("does not touch one whose flags can't be served", async () => {
    world.writes = [];
    const { metadata } = world.object ?? { metadata: { name: "checkout" } };
    world.object = {
      ...world.object,
      metadata,
      spec: { flagSpec: { flags: { f: { state: 1 } } }, rollout: {} },
    };
    await changed();
    world.object = undefined;
    await changed();
    expect(world.writes).to.deep.equal([]);
  });
});
