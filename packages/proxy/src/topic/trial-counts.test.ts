import { atOnce, digestingDocument, type FlagDocument, type TrialCounts } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { noMetrics } from "../proxy-metrics.js";
import type { Subscriber, Subscription } from "./subscription.js";
import { trialCounts } from "./trial-counts.js";
import { TopicRegistry } from "./topic-registry.js";

const key = "demo/flags";
const edited = ["f", "g", ...Array.from({ length: 30 }, (_, index) => `f${index}`)];
/** The flag `same` is in all versions alike. */
const version = (state: string, $evaluators?: FlagDocument["$evaluators"]): FlagDocument => {
  const flags = edited.map((key) => [key, { state }] as const);
  return {
    flags: { ...Object.fromEntries(flags), same: { state: "ENABLED" } },
    ...($evaluators === undefined ? {} : { $evaluators }),
  };
};
const digestOf = (state: string): string => atOnce(digestingDocument(version(state)));

/** Has each version that it is given, and refuses some flags of it. */
class Agent implements Subscriber {
  readonly bucket: number | undefined;
  subscription: Subscription;
  #held = "";

  constructor(topics: TopicRegistry, bucket: number | undefined) {
    this.bucket = bucket;
    this.subscription = topics.subscribe(key, this);
  }

  wake(): void {
    // It answers when a test has it answer.
  }

  answer(refused: readonly string[] = []): void {
    const { snapshot } = this.subscription.view;
    if (snapshot === undefined) return;
    this.subscription.acks?.acknowledge(this.#held, snapshot.digest);
    this.#held = snapshot.digest;
    const parts = refused.map((flag) => ({ flag, reason: "no" }));
    this.subscription.acks?.refuse(this, snapshot.digest, parts, new Set());
  }

  move(to: Subscription): void {
    this.subscription.acks?.acknowledge(this.#held, "");
    to.acks?.acknowledge("", this.#held);
    const from = this.subscription;
    this.subscription = to;
    from.close();
  }

  leave(): void {
    this.subscription.acks?.acknowledge(this.#held, "");
    this.subscription.close();
  }

  refuse(): void {
    throw new Error("it is not to be refused");
  }
}

describe("the counts of a trial", () => {
  let topics: TopicRegistry;
  let agents: readonly Agent[];
  let publish: (whole: string, reach?: number, evaluators?: FlagDocument["$evaluators"]) => void;

  function use(buckets: readonly (number | undefined)[]): void {
    const clock = new ManualClock();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const scripted = new ScriptedSource(clock);
    topics = new TopicRegistry({
      source: scripted,
      ...{ context: { clock, logger, metrics: noMetrics }, lingerMs: 1, missingPolicy: "hold" },
      ...{ deletionGraceMs: 0, deletionPolicy: "keep" },
    });
    publish = (whole, reach, evaluators) => {
      const document = version("v2", evaluators);
      const digest = atOnce(digestingDocument(document));
      scripted.publish(
        key,
        version(whole),
        reach === undefined ? {} : { trial: { document, digest, reach } },
      );
    };
    agents = buckets.map((bucket) => new Agent(topics, bucket));
    publish("v1");
    for (const agent of agents) agent.answer();
  }

  const counts = (): TrialCounts | undefined => {
    const [topic] = [...topics.topics()];
    return topic === undefined ? undefined : trialCounts(topic);
  };

  it("are none while all are to have the same", () => {
    use([1]);
    expect(counts()).to.equal(undefined);
  });

  it("say who could try it, the lowest of them, who is to, and who has", () => {
    use([700, 50, 3, undefined]);
    publish("v1", 0);
    const none = { digest: digestOf("v2"), reach: 0, agents: 3, lowest: 3, wave: 0, current: 0, refusals: 0 };
    expect(counts()).to.deep.equal(none);
    publish("v1", 100);
    expect(counts()).to.deep.equal({ ...none, reach: 100, wave: 2 });
    agents[1]?.answer();
    expect(counts()).to.deep.equal({ ...none, reach: 100, wave: 2, current: 1 });
  });

  it("have refusals of the new version, with a reason", () => {
    use([1, 5_000]);
    publish("v1", 100);
    agents[0]?.answer(["f"]);
    expect(counts()).to.include({ refusals: 1, current: 1, reason: "f: no" });
  });

  it("have no flag that all others refuse before, and one that some of them do, who may only pretend to", () => {
    use([1, 5_000, 5_001, 5_002]);
    for (const index of [1, 2, 3]) agents[index]?.answer(index === 3 ? ["f"] : ["f", "g"]);
    publish("v1", 100);
    agents[0]?.answer(["f"]);
    expect(counts()).to.include({ refusals: 0 });
    agents[0]?.answer(["g"]);
    expect(counts()).to.include({ refusals: 1, reason: "g: no" });
  });

  it("have no flag that is in both versions alike, of an agent that has begun with the new one", () => {
    use([1, 5_000, 5_001]);
    agents[1]?.answer(["same"]);
    publish("v1", 100);
    agents[0]?.answer(["same", "in neither of them"]);
    expect(counts()).to.include({ refusals: 0, current: 1 });
    agents[0]?.answer(["same", "f"]);
    expect(counts()).to.include({ refusals: 1, reason: "f: no" });
  });

  it("have a flag that is alike where its set is not", () => {
    use([1, 5_000]);
    publish("v1", 100, { rule: { "==": [1, 1] } });
    agents[0]?.answer(["same"]);
    expect(counts()).to.include({ refusals: 1, reason: "same: no" });
  });

  it("have each refusal where nobody has the version before, whatever somebody has refused of it once", () => {
    use([1, 2]);
    const gone = agents[1];
    const [topic] = [...topics.topics()];
    const refused = topic?.acks.refuse(
      {},
      topic.newest?.digest ?? "",
      [{ flag: "f", reason: "no" }],
      new Set(),
    );
    topic?.acks.refuse({}, "", [], refused ?? new Set());
    gone?.leave();
    publish("v1", 100);
    agents[0]?.answer(["f"]);
    expect(counts()).to.include({ refusals: 1, wave: 1 });
  });

  it("have refusals for which there was no room, as one of each agent", () => {
    use([1, 2]);
    publish("v1", 100);
    agents[0]?.answer(Array.from({ length: 30 }, (_, index) => `f${index}`));
    expect(counts()).to.include({ refusals: 21 });
  });
});
