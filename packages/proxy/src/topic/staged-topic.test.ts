import { atOnce, digestingDocument, type FlagDocument } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { ProxyError } from "../proxy-error.js";
import { noMetrics } from "../proxy-metrics.js";
import type { Trial } from "../source/trial.js";
import { DocumentLedger } from "./document-ledger.js";
import { FanOut } from "./fan-out.js";
import type { Subscriber, Subscription } from "./subscription.js";
import type { TopicTrial } from "./topic-trial.js";
import { TopicRegistry, type TopicRegistryOptions } from "./topic-registry.js";

const key = "demo/flags";
const version = (state: string): FlagDocument => ({ flags: { f: { state } } });

function trialOf(state: string, reach: number): Trial {
  const document = version(state);
  return { document, digest: atOnce(digestingDocument(document)), reach, generation: 2 };
}

/** Takes what it is woken for. */
class Agent implements Subscriber {
  readonly got: string[] = [];
  readonly bucket: number | undefined;
  refusal: ProxyError | undefined;
  subscription: Subscription;

  constructor(topics: TopicRegistry, bucket?: number) {
    this.bucket = bucket;
    this.subscription = topics.subscribe(key, this);
    this.wake();
  }

  wake(): void {
    const due = this.subscription.due;
    if (due === undefined) return;
    this.subscription.take(due);
    this.subscription.settle();
    this.got.push(/v\d/.exec(due.text)?.[0] ?? due.text);
  }

  move(to: Subscription): void {
    const from = this.subscription;
    this.subscription = to;
    from.close();
    this.wake();
  }

  refuse(error: ProxyError): void {
    this.refusal = error;
  }

  get last(): string | undefined {
    return this.got.at(-1);
  }
}

function useTopics(options: Partial<TopicRegistryOptions> = {}, ledger = new DocumentLedger()) {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock);
  const turns: (() => void)[] = [];
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const all: TopicRegistryOptions = {
    source,
    context: { clock, logger, metrics: noMetrics },
    lingerMs: 30_000,
    missingPolicy: "hold",
    deletionGraceMs: 0,
    deletionPolicy: "keep",
    fanOut: new FanOut({ stepsPerTurn: 256, nextTurn: (callback) => turns.push(callback) }),
    ...options,
  };
  const topics = new TopicRegistry(all, ledger);
  const turn = (): void => {
    for (const callback of turns.splice(0)) callback();
  };
  /** All agents are to have `whole`; those below the reach, `tried`. */
  const publish = (whole: string, tried?: Trial): void => {
    source.publish(key, version(whole), tried === undefined ? {} : { trial: tried });
    turn();
  };
  const trial = (): TopicTrial | undefined => [...topics.topics()][0]?.trial;
  return { clock, source, topics, publish, turn, trial };
}

describe("a version that is pushed progressively", () => {
  it("goes to agents below the reach, and to all others, whoever they are, when it is whole", () => {
    const { topics, publish, trial } = useTopics();
    publish("v1");
    const agents = [0, 50, 999, 5_000].map((bucket) => new Agent(topics, bucket));
    const stock = new Agent(topics);
    publish("v1");
    const all = (): (string | undefined)[] => [...agents, stock].map(({ last }) => last);
    expect(all()).to.deep.equal(["v1", "v1", "v1", "v1", "v1"]);
    publish("v1", trialOf("v2", 0));
    expect(all(), "nobody yet").to.deep.equal(["v1", "v1", "v1", "v1", "v1"]);
    publish("v1", trialOf("v2", 100));
    expect(all()).to.deep.equal(["v2", "v2", "v1", "v1", "v1"]);
    publish("v1", trialOf("v2", 1_000));
    expect(all()).to.deep.equal(["v2", "v2", "v2", "v1", "v1"]);
    publish("v2");
    expect(all()).to.deep.equal(["v2", "v2", "v2", "v2", "v2"]);
    expect(trial()).to.equal(undefined);
  });

  it("is all that agents below the reach get that waited for the first answer, as after a restart, and others get the other one", () => {
    const { topics, publish } = useTopics();
    const agents = Array.from({ length: 600 }, (_, bucket) => new Agent(topics, bucket));
    const stock = new Agent(topics);
    publish("v1", trialOf("v2", 300));
    publish("v1", trialOf("v2", 300));
    const got = [...agents, stock].map((agent) => agent.got.join());
    expect(got).to.deep.equal(Array.from({ length: 601 }, (_, bucket) => (bucket < 300 ? "v2" : "v1")));
  });

  it("goes to nobody, at any reach, where its flags are not those that it is named after", () => {
    const { topics, publish } = useTopics();
    publish("v1");
    const first = new Agent(topics, 10);
    const forged = { ...trialOf("v3", 100), digest: trialOf("v2", 0).digest };
    publish("v1", forged);
    publish("v1", { ...forged, reach: 1_000 });
    expect(first.got).to.deep.equal(["v1"]);
    publish("v1", trialOf("v4", 100));
    expect(first.got).to.deep.equal(["v1", "v4"]);
  });

  it("costs a topic without one nothing: no subscriber is asked where it belongs, or moved, or wakened once more", () => {
    const { topics, source, publish } = useTopics();
    let [asked, woken] = [0, 0];
    const count = <T>(value: T): T => {
      asked++;
      return value;
    };
    class Counted implements Subscriber {
      readonly subscription = topics.subscribe(key, this);

      get bucket(): number {
        return count(10);
      }
      get trials(): Subscriber["trials"] {
        return count<Subscriber["trials"]>(undefined);
      }
      get move(): (to: Subscription) => void {
        return count((to) => to.close());
      }
      wake(): void {
        woken++;
        const { due } = this.subscription;
        if (due !== undefined) this.subscription.take(due);
        this.subscription.settle();
      }
      refuse(): void {
        throw new Error("it is not to be refused");
      }
    }
    publish("v1");
    const agents = Array.from({ length: 100 }, () => new Counted());
    woken = 0;
    publish("v2");
    publish("v3");
    source.stale(key, new Error("away"));
    publish("v3");
    expect(agents.every(({ subscription }) => subscription.view.snapshot?.text.includes("v3"))).to.equal(
      true,
    );
    expect([asked, woken]).to.deep.equal([0, 2 * agents.length]);
    publish("v3", trialOf("v4", 100));
    expect(asked, "the counter counts").to.be.at.least(agents.length);
  });

  it("is there for who comes while it is tried, and comes back", () => {
    const { topics, publish } = useTopics();
    publish("v1", trialOf("v2", 100));
    const first = new Agent(topics, 10);
    publish("v1", trialOf("v2", 100));
    expect(first.last).to.equal("v2");
    expect(new Agent(topics, 10).got).to.deep.equal(["v2"]);
    expect(new Agent(topics, 100).got).to.deep.equal(["v1"]);
    expect(new Agent(topics).got).to.deep.equal(["v1"]);
  });

  it("is taken from those who tried it when it is given up, or another is tried", () => {
    const { topics, publish } = useTopics();
    const [one, other] = [new Agent(topics, 10), new Agent(topics, 2_000)];
    publish("v1");
    publish("v1", trialOf("v2", 5_000));
    publish("v1", trialOf("v2", 0));
    expect([one.got, other.got]).to.deep.equal([
      ["v1", "v2", "v1"],
      ["v1", "v2", "v1"],
    ]);
    publish("v1", trialOf("v2", 5_000));
    publish("v1", trialOf("v3", 100));
    expect([one.last, other.last]).to.deep.equal(["v3", "v1"]);
  });

  it("reaches nobody if the reach is about other flags", () => {
    const { topics, publish } = useTopics();
    publish("v1");
    const agent = new Agent(topics, 0);
    publish("v1", { ...trialOf("v2", 10_000), document: version("v3") });
    expect(agent.got).to.deep.equal(["v1"]);
  });

  it("moves agents a few hundred in a turn, each to where it belongs by then", () => {
    const { source, topics, publish, turn } = useTopics();
    const agents = Array.from({ length: 1_000 }, (_, index) => new Agent(topics, index * 10));
    publish("v1");
    for (let one = 0; one < 10; one++) turn();
    source.publish(key, version("v1"), { trial: trialOf("v2", 10_000) });
    const moved = (): number => agents.filter(({ last }) => last === "v2").length;
    expect(moved()).to.be.at.most(256).and.above(0);
    source.publish(key, version("v1"), { trial: trialOf("v2", 100) });
    for (let one = 0; one < 10; one++) turn();
    expect(agents.filter(({ last }) => last === "v2").map(({ bucket }) => bucket)).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => index * 10),
    );
  });

  it("keeps its topic alive while only agents that try it are there, and no longer", () => {
    const { clock, source, topics, publish } = useTopics();
    publish("v1");
    const agent = new Agent(topics, 10);
    publish("v1", trialOf("v2", 10_000));
    clock.advance(60_000);
    expect([agent.last, source.watchCount]).to.deep.equal(["v2", 1]);
    agent.subscription.close();
    clock.advance(60_000);
    expect(source.watchCount).to.equal(0);
  });

  it("ends with its FeatureFlag, and those who tried it have what all have", () => {
    const { source, topics, publish, turn, trial } = useTopics();
    publish("v1");
    const agent = new Agent(topics, 10);
    publish("v1", trialOf("v2", 10_000));
    source.delete(key);
    turn();
    expect([trial(), agent.last]).to.deep.equal([undefined, "v1"]);
  });

  it("ends agents that try it and may not read it any more, before they are sent the next", () => {
    const refused = new ProxyError("PERMISSION_DENIED", "not shared");
    let lost: readonly Subscriber[] = [];
    const { topics, publish } = useTopics({
      lost: () => (lost.length === 0 ? [] : [{ error: refused, subscribers: new Set(lost) }]),
    });
    publish("v1");
    const [kept, ended] = [new Agent(topics, 10), new Agent(topics, 20)];
    publish("v1", trialOf("v2", 100));
    lost = [ended];
    publish("v2");
    expect([kept.last, ended.last, ended.refusal]).to.deep.equal(["v2", "v2", refused]);
    expect(ended.subscription.topic).to.equal(undefined);
  });

  it("ends agents that try it and may not read it any more, before they are sent what is tried next", () => {
    const refused = new ProxyError("PERMISSION_DENIED", "not shared");
    let lost: readonly Subscriber[] = [];
    const { topics, publish } = useTopics({
      lost: () => (lost.length === 0 ? [] : [{ error: refused, subscribers: new Set(lost) }]),
    });
    publish("v1");
    const [kept, ended] = [new Agent(topics, 10), new Agent(topics, 20)];
    publish("v1", trialOf("v2", 100));
    lost = [ended];
    publish("v1", trialOf("v3", 100));
    expect([kept.last, ended.last, ended.refusal]).to.deep.equal(["v3", "v2", refused]);
    expect(ended.subscription.topic).to.equal(undefined);
  });

  it("ends agents that may not read it any more while they are still being moved to what is tried next", () => {
    const refused = new ProxyError("PERMISSION_DENIED", "not shared");
    let lost: readonly Subscriber[] = [];
    const { source, topics, publish, turn } = useTopics({
      lost: () => (lost.length === 0 ? [] : [{ error: refused, subscribers: new Set(lost) }]),
    });
    publish("v1");
    const agents = Array.from({ length: 600 }, () => new Agent(topics, 10));
    publish("v1", trialOf("v2", 100));
    for (let one = 0; one < 5; one++) turn();
    source.publish(key, version("v1"), { trial: trialOf("v3", 100) });
    lost = agents.slice(-1);
    source.publish(key, version("v4"));
    for (let one = 0; one < 10; one++) turn();
    expect(agents.map(({ last }) => last)).to.deep.equal(
      agents.map((_, index) => (index < 599 ? "v4" : "v2")),
    );
    expect(agents.at(-1)?.refusal).to.equal(refused);
  });

  it("keeps the topic of agents that are still being moved when the last of all others leaves", () => {
    const { clock, source, topics, publish, turn } = useTopics();
    publish("v1");
    const agents = Array.from({ length: 300 }, () => new Agent(topics, 10));
    const stock = new Agent(topics);
    publish("v1", trialOf("v2", 10_000));
    turn();
    // Takes all steps of the turn.
    const others = Array.from({ length: 256 }, () =>
      topics.subscribe("demo/other", { wake: () => undefined, refuse: () => undefined }),
    );
    source.publish("demo/other", version("v1"));
    source.publish(key, version("v2"));
    stock.subscription.close();
    for (let one = 0; one < 5; one++) turn();
    expect(others).to.have.length(256);
    expect(agents.filter(({ last }) => last === "v2")).to.have.length(300);
    clock.advance(60_000);
    turn();
    expect(agents.filter(({ refusal }) => refusal !== undefined)).to.have.length(0);
    expect(source.watchCount).to.equal(2);
  });

  it("refuses those who try it when the proxy ends", async () => {
    const { topics, publish, turn } = useTopics();
    publish("v1");
    const agent = new Agent(topics, 10);
    publish("v1", trialOf("v2", 100));
    const abort = new AbortController();
    const running = topics.run(abort.signal);
    abort.abort();
    await running;
    turn();
    expect(agent.refusal).to.have.property("code", "SHUTTING_DOWN");
  });

  it("is taken from those who tried it also where there is no memory for the one that is tried next", () => {
    const { topics, publish, turn, trial } = useTopics({}, new DocumentLedger(6_000));
    publish("v1");
    const agent = new Agent(topics, 10);
    publish("v1", trialOf("v2", 100));
    expect(agent.last).to.equal("v2");
    expect(() => publish("v1", trialOf(`v3${"x".repeat(6_000)}`, 100))).to.throw("no memory");
    turn();
    expect([agent.last, trial()]).to.deep.equal(["v1", undefined]);
    publish("v1", trialOf("v4", 100));
    expect(agent.last).to.equal("v4");
  });

  it("is tried by nobody until there is memory for it beside the one that all have, and then without another edit", async () => {
    const ledger = new DocumentLedger(3_000);
    const { topics, publish, turn, trial } = useTopics({}, ledger);
    publish("v1");
    const first = new Agent(topics, 10);
    ledger.add("demo/other", 1_500);
    expect(() => publish("v1", trialOf("v2", 100))).to.throw("no memory for the newest version");
    expect(trial()).to.equal(undefined);
    ledger.add("demo/other", -1_500);
    await eventually(() => trial() !== undefined, "the source offers it again");
    turn();
    expect(first.got).to.deep.equal(["v1", "v2"]);
    publish("v1");
    expect(first.last).to.equal("v1");
    first.subscription.close();
    expect(ledger.hasRoom("demo/other", 1_400), "the trial has given its memory back").to.equal(true);
  });
});
