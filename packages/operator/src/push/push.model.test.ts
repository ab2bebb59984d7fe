import { expect } from "chai";
import fc from "fast-check";
import { nextPush, type PushRecord } from "./push-plan.js";
import type { WaveWatch } from "./push-wave.js";
import { pushEvidence, type ToldPush } from "./told-push.js";

/** An agent as a proxy sees it. `refuses`: what it says of the version once it is sent. */
interface ModelAgent {
  readonly bucket: number;
  readonly refuses: boolean;
  state: "old" | "sent" | "has" | "refuses" | "gone";
}

/** A proxy, which learns of the status later than it is written. */
interface ModelProxy {
  readonly agents: readonly ModelAgent[];
  reach: number | undefined;
}

const observeMs = 10;
const settings = { waves: [1, 10, 50], observeMs, maxRefusing: 0, isPaused: false };
const agent = fc.record({ bucket: fc.nat(9_999), refuses: fc.boolean() });

type Step =
  | {
      readonly kind: "learn" | "send" | "answer" | "decide" | "silent" | "new leader";
      readonly proxy: number;
    }
  | { readonly kind: "leave" | "back"; readonly proxy: number; readonly agent: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ kind: fc.constantFrom("learn", "send", "answer", "decide"), proxy: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("silent", "new leader"), proxy: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("leave", "back"), proxy: fc.nat(2), agent: fc.nat(30) }),
  },
);

class Model {
  readonly proxies: readonly ModelProxy[];
  record: PushRecord | undefined;
  watch: WaveWatch | undefined;
  isForAll = false;
  nowMs = 0;

  constructor(agents: readonly (readonly Pick<ModelAgent, "bucket" | "refuses">[])[]) {
    this.proxies = agents.map((each) => ({
      agents: each.map((one) => ({ ...one, state: "old" as const })),
      reach: undefined,
    }));
  }

  do(what: Step): void {
    const proxy = this.proxies[what.proxy];
    if (proxy === undefined) return;
    switch (what.kind) {
      case "learn":
        proxy.reach = this.record?.reach ?? 0;
        return;
      case "send":
        this.#send(proxy);
        return;
      case "answer":
        for (const one of proxy.agents) if (one.state === "sent") one.state = one.refuses ? "refuses" : "has";
        return;
      case "decide":
        this.#decide();
        return;
      case "silent":
        this.#decide(true);
        return;
      case "new leader":
        this.watch = undefined;
        return;
      case "leave":
      case "back": {
        const one = proxy.agents[what.agent];
        if (one !== undefined && (one.state === "gone") === (what.kind === "back"))
          one.state = what.kind === "back" ? "old" : "gone";
      }
    }
  }

  #send({ agents, reach = 0 }: ModelProxy): void {
    for (const one of agents) {
      if (one.state === "gone") continue;
      if (one.bucket >= reach) one.state = "old";
      else if (one.state === "old") one.state = "sent";
    }
  }

  /** All have the time to do what they have to, again and again. */
  settle(): void {
    for (let round = 0; round < 40 && !this.isForAll; round++) {
      for (const proxy of [0, 1, 2])
        for (const kind of ["learn", "send", "answer"] as const) this.do({ kind, proxy });
      this.do({ kind: "decide", proxy: 0 });
    }
  }

  get agents(): readonly ModelAgent[] {
    return this.proxies.flatMap(({ agents }) => agents);
  }

  #decide(isSilent = false): void {
    if (this.isForAll) return;
    this.nowMs += observeMs;
    const verdict = nextPush({
      ...{ settings, digest: "new", wholeDigest: "old", before: this.record, isAborted: false },
      ...{ resumed: undefined, watch: this.watch, nowMs: this.nowMs },
      evidence: isSilent ? undefined : pushEvidence(this.proxies.map(told), "new"),
    });
    this.record = verdict.record;
    this.watch = verdict.watch;
    this.isForAll ||= verdict.takesWhole;
  }
}

function told({ agents, reach }: ModelProxy): ToldPush {
  const there = agents.filter(({ state }) => state !== "gone");
  if (reach === undefined) return { subscribers: there.length };
  const wave = there.filter(({ bucket }) => bucket < reach);
  const count = (state: ModelAgent["state"]): number => wave.filter((one) => one.state === state).length;
  const lowest = Math.min(...there.map(({ bucket }) => bucket));
  const trial = { digest: "new", reach, agents: there.length, wave: wave.length };
  const counts = { current: count("has"), refusals: count("refuses") };
  return {
    subscribers: there.length,
    trial: { ...trial, ...counts, ...(there.length === 0 ? {} : { lowest }) },
  };
}

const fleet = fc.tuple(...Array.from({ length: 3 }, () => fc.array(agent, { maxLength: 30 })));
const steps = fc.array(step, { maxLength: 120 });

describe("a rollout, with proxies that learn late and agents that come and go", () => {
  it("reaches no agent beyond the first wave with a version that all refuse", () => {
    fc.assert(
      fc.property(fleet, steps, (agents, todo) => {
        const model = new Model(agents.map((each) => each.map((one) => ({ ...one, refuses: true }))));
        let first: number | undefined;
        for (const each of todo) {
          model.do(each);
          if (model.record?.wave === 1) first = model.record.reach;
        }
        // Nobody asked for it when it was decided.
        if (model.isForAll && first === undefined) return;
        const sent = model.agents.filter(({ state }) => state !== "old" && state !== "gone");
        expect(model.record?.wave ?? 0).to.be.at.most(1);
        for (const { bucket } of sent) expect(bucket).to.be.below(first ?? 0);
      }),
      { seed: 20_261_128, numRuns: 500 },
    );
  });

  it("never goes on from a wave in which an agent refuses the version, and says so", () => {
    fc.assert(
      fc.property(fleet, steps, (agents, todo) => {
        const model = new Model(agents);
        for (const each of todo) {
          const wave = model.record?.wave ?? 0;
          const refuses = model.proxies.some((proxy) => (told(proxy).trial?.refusals ?? 0) > 0);
          model.do(each);
          if (refuses && !model.isForAll)
            expect(model.record?.wave ?? 0, JSON.stringify(each)).to.equal(wave);
        }
      }),
      { seed: 20_261_128, numRuns: 500 },
    );
  });

  it("is for all in the end where nobody refuses the version", () => {
    fc.assert(
      fc.property(fleet, (agents) => {
        const model = new Model(agents.map((each) => each.map((one) => ({ ...one, refuses: false }))));
        model.settle();
        expect(model.isForAll).to.equal(true);
      }),
      { seed: 20_261_128, numRuns: 200 },
    );
  });
});
