import { expect } from "chai";
import fc from "fast-check";
import {
  nextSecurityState,
  securityAccess,
  podSettleMs,
  type PodAccess,
  type ProxyAccess,
  type Security,
  type SecurityTarget,
  type SecurityView,
} from "./security-state.js";

type Command =
  /** Somebody edits the option: the operator restarts with it. */
  | { readonly kind: "wanted"; readonly target: SecurityTarget }
  /** A leader looks; another one that was there before still acts by what it has seen, and is refused by its version. */
  | { readonly kind: "looks" | "steps" }
  /** The rollout of the proxy replaces a replica; old ones take a while to end. */
  | { readonly kind: "replaces" | "proxyEnds"; readonly which: number }
  /** A Pod is let in by a replica, or an API server, that may not have heard of the last state. */
  | { readonly kind: "created"; readonly isLate: boolean }
  | { readonly kind: "podEnds"; readonly which: number }
  | { readonly kind: "authority"; readonly isThere: boolean }
  | { readonly kind: "time"; readonly ms: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant("wanted" as const),
    target: fc.constantFrom<SecurityTarget>("off", "mixed", "on"),
  }),
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("looks" as const) }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("steps" as const) }) },
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constantFrom("replaces" as const, "proxyEnds" as const),
      which: fc.nat(5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("created" as const), isLate: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("podEnds" as const), which: fc.nat(5) }) },
  fc.record({ kind: fc.constant("authority" as const), isThere: fc.boolean() }),
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      ms: fc.constantFrom(1_000, podSettleMs / 2, podSettleMs),
    }),
  },
);

/** What a proxy serves. */
const serves: Readonly<Record<ProxyAccess, readonly PodAccess[]>> = {
  plain: ["plain"],
  both: ["plain", "secured"],
  secured: ["secured"],
};

/** A cluster of which the operator sees what it looks at, when it looks. */
class World {
  target: SecurityTarget = "off";
  nowMs = 1_000_000;
  stored: Security = { state: "off", sinceMs: 0 };
  hasAuthority = true;
  version = 0;
  /** The state before, by which Pods may still be let in until `podSettleMs` later. */
  before: Security["state"] = "off";
  view: (SecurityView & { readonly version: number }) | undefined;
  /** Replicas, and old ones that still end. */
  proxies: ProxyAccess[] = ["plain", "plain"];
  ending: ProxyAccess[] = [];
  pods: PodAccess[] = ["plain"];
  readonly seen = new Set<Security["state"]>();

  run(action: Command): void {
    switch (action.kind) {
      case "wanted":
        this.target = action.target;
        break;
      case "looks":
        this.view = this.#look();
        break;
      case "steps":
        this.#step();
        break;
      case "replaces":
        this.#replace(action.which);
        break;
      case "proxyEnds":
        this.ending.splice(action.which % Math.max(1, this.ending.length), 1);
        break;
      case "created":
        this.#create(action.isLate);
        break;
      case "podEnds":
        this.pods.splice(action.which % Math.max(1, this.pods.length), 1);
        break;
      case "authority":
        this.hasAuthority = action.isThere;
        break;
      case "time":
        this.nowMs += action.ms;
    }
  }

  #look(): SecurityView & { readonly version: number } {
    const { proxy } = securityAccess[this.stored.state];
    const count = (access: PodAccess): number => this.pods.filter((each) => each === access).length;
    return {
      version: this.version,
      nowMs: this.nowMs,
      otherProxies: [...this.proxies, ...this.ending].filter((each) => each !== proxy).length,
      hasAuthority: this.hasAuthority,
      plainPods: count("plain"),
      securedPods: count("secured"),
    };
  }

  /** By the last look, which may be old; a write is refused if the state was written meanwhile. */
  #step(): void {
    if (this.view?.version !== this.version) return;
    const state = nextSecurityState(this.stored, this.target, this.view);
    if (state === this.stored.state) return;
    this.before = this.stored.state;
    this.stored = { state, sinceMs: this.nowMs };
    this.seen.add(state);
    this.version++;
  }

  #replace(which: number): void {
    const index = which % this.proxies.length;
    const old = this.proxies[index];
    if (old === undefined || this.ending.length > 2) return;
    this.proxies[index] = securityAccess[this.stored.state].proxy;
    this.ending.push(old);
  }

  #create(isLate: boolean): void {
    const maySee = isLate && this.nowMs < this.stored.sinceMs + podSettleMs;
    this.pods.push(securityAccess[maySee ? this.before : this.stored.state].pods);
  }

  /** Which of its replicas refuses which of its Pods; undefined if none does. */
  get refusal(): string | undefined {
    const pods = new Set(this.pods);
    for (const proxy of new Set([...this.proxies, ...this.ending]))
      for (const pod of pods)
        if (!serves[proxy].includes(pod)) return `${proxy} refuses ${pod} in ${this.stored.state}`;
    return undefined;
  }
}

describe("the transition of the proxy's security", () => {
  it("lets no replica of the proxy refuse a Pod that was let in, however Pods, proxies and operators interleave", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(command, { minLength: 300, maxLength: 400, size: "max" }), (commands) => {
        const world = new World();
        for (const action of commands) {
          world.run(action);
          if (world.refusal !== undefined) expect.fail(world.refusal);
        }
        for (const state of world.seen) seen.add(state);
      }),
      { numRuns: 150, seed: 20_26, endOnFailure: true },
    );
    // Otherwise it would say nothing of these.
    expect([...seen]).to.have.members([
      "off",
      "opening",
      "mixed",
      "closing",
      "on",
      "reopening",
      "leaving",
      "ending",
    ]);
  });

  it("comes where it is asked to be once Pods and proxies have been replaced", () => {
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 60 }),
        fc.constantFrom<SecurityTarget>("off", "mixed", "on"),
        (commands, target) => {
          const world = new World();
          for (const action of commands) world.run(action);
          world.target = target;
          world.hasAuthority = true;
          for (let round = 0; round < 20; round++) {
            for (const which of [0, 1]) world.run({ kind: "replaces", which });
            world.ending = [];
            world.nowMs += podSettleMs;
            world.pods = [];
            world.run({ kind: "created", isLate: false });
            world.run({ kind: "looks" });
            world.run({ kind: "steps" });
          }
          expect(world.stored.state).to.equal(target);
        },
      ),
      { numRuns: 300, seed: 20_26, endOnFailure: true },
    );
  });
});
