import { expect } from "chai";
import { agentStates, type AgentRecord } from "./agent-record.js";
import type { PodChange } from "./agent-step.js";
import { newImage, oldImage, podOf, rolloutOf, without } from "./fleet.fixture.js";
import type { Fleet, FleetBudget, FleetPod } from "./fleet.js";
import { planFleet, type FleetPlan, type RolloutVerdict } from "./plan.js";

const nowMs = 1_000_000;
const second = 1_000;
const record: AgentRecord = {
  ...{ rollout: "uid-of-rollout", image: newImage, state: "updating" },
  ...{ atMs: nowMs - 10 * second, begunMs: nowMs - 10 * second, sinceMs: 0 },
  ...{ imageID: `id:${oldImage}`, restarts: 0 },
};
/** A sidecar that runs with the new image. */
const renewed = { image: newImage, imageID: `id:${newImage}`, restarts: 1, previous: oldImage };

function plan(pods: readonly FleetPod[], fleet: Partial<Fleet> = {}): FleetPlan {
  const all = { rollouts: [rolloutOf()], pods, budgets: [], namespaces: new Map([["shop", {}]]), ...fleet };
  return planFleet(all, nowMs);
}

const said = ({ changes }: FleetPlan): string[] =>
  changes.map(({ pod, image, record: { state } }) => `${pod.key.slice(5)} ${state} ${image.slice(-1)}`);

function only<T>([one, ...others]: readonly T[]): T {
  if (one === undefined || others.length > 0) throw new Error("there is not exactly one");
  return one;
}
const verdictOf = ({ verdicts }: FleetPlan): RolloutVerdict => only(verdicts);
const changeOf = ({ changes }: FleetPlan): PodChange => only(changes);
const waits = (of: FleetPlan): object => Object.fromEntries(verdictOf(of).waiting);

const named = (count: number, rest: Partial<FleetPod> = {}): FleetPod[] =>
  Array.from({ length: count }, (_, index) => podOf(`p${String(index).padStart(3, "0")}`, {}, rest));

describe("planFleet", () => {
  it("begins with one Pod, and notes what it had before", () => {
    const change = changeOf(plan(named(3)));
    expect(change).to.deep.include({ image: newImage, previous: oldImage });
    expect(change.record).to.deep.equal({ ...record, atMs: nowMs, begunMs: nowMs });
    expect(waits(plan(named(3)))).to.deep.equal({ Wave: 2 });
  });

  it("goes on with a hundredth, a tenth, and the rest, each when all before it have ended", () => {
    const pods = named(300);
    const begunAfter = (ended: number): number => {
      const fleet = pods.map((pod, index) =>
        index < ended
          ? podOf(pod.key.slice(5), { ...renewed, record: { ...record, state: "updated" } })
          : pod,
      );
      return plan(fleet, { rollouts: [rolloutOf({ maxInFlight: 1_000 })] }).changes.length;
    };
    expect([0, 1, 3, 4, 33, 34].map(begunAfter)).to.deep.equal([1, 3, 1, 30, 1, 266]);
  });

  it("begins nothing before its status says what counts", () => {
    const unwritten = without(rolloutOf(), "progress");
    const planned = plan(named(2), { rollouts: [unwritten] });
    expect(said(planned)).to.deep.equal([]);
    expect(verdictOf(planned)).to.deep.include({
      phase: "Progressing",
      progress: { image: newImage, sinceMs: nowMs, failures: [] },
    });
  });

  it("leaves alone what is not ready, ending, too young, of another image, or has no sidecar of ours", () => {
    const bare = without(podOf("bare"), "agent");
    const pods = [
      podOf("unready", {}, { isReady: false }),
      podOf("pending", {}, { phase: "Pending" }),
      podOf("young", {}, { createdMs: nowMs - 59 * second }),
      podOf("ending", {}, { isEnding: true }),
      podOf("done", {}, { phase: "Succeeded" }),
      podOf("other", { image: "registry.example/other:1" }),
      bare,
    ];
    const planned = plan(pods);
    expect(said(planned)).to.deep.equal([]);
    expect(waits(planned)).to.deep.equal({ NotReady: 2, Young: 1 });
    expect(planned.dueMs).to.equal(nowMs + second);
    expect(verdictOf(planned).desired).to.equal(3);
  });

  it("begins with no Pod whose node does not have the image, and has the nodes of a wave pull it", () => {
    const rollouts = [rolloutOf({ prePulls: true, perNode: 1 })];
    const pods = ["a", "b", "c"].map((name) => podOf(name, {}, { node: `n-${name}` }));
    const first = plan(pods, { rollouts });
    expect([said(first), waits(first)]).to.deep.equal([[], { Image: 3 }]);
    expect(verdictOf(first).pulls.create, "of the first wave").to.deep.equal(["n-a"]);
    const pull = { rollout: "uid-of-rollout", image: newImage, createdMs: nowMs, state: "pulled" } as const;
    const pulls = [{ ...pull, name: "b", node: "n-b" }];
    const second = plan(pods, { rollouts, pulls });
    expect(said(second), "whichever has it").to.deep.equal(["b updating 2"]);
    expect(verdictOf(second).pulls.create).to.deep.equal([]);
    const held = [podOf("a", {}, { isHeld: true, refusal: "denied", node: "n-a" }), ...pods.slice(1)];
    expect(
      verdictOf(plan(held, { rollouts })).pulls.create,
      "first where nothing else is in the way",
    ).to.deep.equal(["n-b"]);
    const done = pods.map(({ key }) => podOf(key.slice(5), renewed));
    expect(verdictOf(plan(done, { rollouts, pulls })).pulls.remove).to.deep.equal(pulls);
    expect(said(plan(pods, { rollouts: [rolloutOf()] }))).to.deep.equal(["a updating 2"]);
  });

  it("begins with nothing while it is not known which sidecars have the proxy's flags", () => {
    const planned = plan(named(2), { areProxiesUnknown: true });
    expect(said(planned)).to.deep.equal([]);
    expect(waits(planned)).to.deep.equal({ Proxies: 2 });
  });

  it("skips Pods that an API server refuses to change, and begins with no others while they are as many as the threshold", () => {
    const refused = (name: string, isHeld: boolean): FleetPod =>
      podOf(name, {}, { refusal: "denied", isHeld });
    const rollouts = [rolloutOf({ failureThreshold: 2 })];
    const some = plan([refused("a", true), podOf("b")], { rollouts });
    expect(said(some)).to.deep.equal(["b updating 2"]);
    expect(waits(some)).to.deep.equal({ Refused: 1 });
    expect(verdictOf(some)).to.deep.include({ phase: "Progressing" });
    const many = plan([refused("b", true), refused("a", true), podOf("c")], { rollouts });
    expect(said(many)).to.deep.equal([]);
    expect(waits(many)).to.deep.equal({ Refused: 2, Refusals: 1 });
    expect(verdictOf(many).refused.map(({ key }) => key)).to.deep.equal(["shop/a", "shop/b"]);
    const again = plan([refused("a", true), refused("b", false), podOf("c")], { rollouts });
    expect(said(again), "it is asked again").to.deep.equal(["b updating 2"]);
    expect(waits(again)).to.deep.equal({ Refused: 1, Refusals: 1 });
    expect(waits(plan([podOf("a", {}, { isHeld: true })])), "no refusal").to.deep.equal({ Changed: 1 });
  });

  describe("with a Pod under way", () => {
    const step = (agent: object, state: Partial<AgentRecord> = {}, pod: Partial<FleetPod> = {}): string[] =>
      said(plan([podOf("a", { ...renewed, record: { ...record, ...state }, ...agent }, pod)]));

    it("takes another image's ID, one restart more, and a ready Pod as the proof", () => {
      expect(step({})).to.deep.equal(["a observing 2"]);
      expect(step({ imageID: record.imageID })).to.deep.equal([]);
      expect(step({ imageID: "" })).to.deep.equal([]);
      expect(step({ restarts: 0 })).to.deep.equal([]);
      expect(step({ isReady: false })).to.deep.equal([]);
      expect(step({ isStarted: false })).to.deep.equal([]);
      expect(step({}, {}, { isReady: false })).to.deep.equal([]);
      expect(step({ restarts: 2 }), "it has restarted once too often").to.deep.equal(["a failing 1"]);
    });

    it("puts the old image back when the deadline is over", () => {
      const late = { begunMs: nowMs - 120 * second };
      expect(step({ isReady: false }, late)).to.deep.equal(["a failing 1"]);
      const { record: next } = changeOf(
        plan([
          podOf("a", {
            ...renewed,
            trouble: "ErrImagePull",
            record: { ...record, ...late },
            isStarted: false,
          }),
        ]),
      );
      expect(next.why).to.contain("ErrImagePull").and.contain(newImage);
      expect(next.atMs).to.equal(nowMs);
      const stopped = { ...renewed, imageID: record.imageID, restarts: 0, isStarted: false };
      const unpulled = changeOf(plan([podOf("a", { ...stopped, record: { ...record, ...late } })]));
      expect(unpulled.record.why).to.contain("can pull the image");
    });

    it("takes a sidecar that had the proxy's flags as proven when it has them again", () => {
      const had = { isServed: true };
      expect(step({ served: "current" }, had)).to.deep.equal(["a observing 2"]);
      expect(step({ served: "behind" }, had)).to.deep.equal([]);
      expect(step({ served: "unknown" }, had)).to.deep.equal([]);
      expect(step({}, had), "no proxy can say it").to.deep.equal(["a observing 2"]);
      expect(step({ served: "behind" }), "it had none before").to.deep.equal(["a observing 2"]);
      const late = { ...had, begunMs: nowMs - 120 * second };
      expect(step({ served: "behind" }, late)).to.deep.equal(["a failing 1"]);
      const pod = podOf("a", { ...renewed, served: "behind", record: { ...record, ...late } });
      expect(changeOf(plan([pod])).record.why).to.contain("did not in time have what the proxy serves");
      expect(step({ served: "unknown" }, late), "that is not the image's fault").to.deep.equal([]);
      expect(step({ served: "unknown", isReady: false }, late)).to.deep.equal(["a failing 1"]);
    });

    it("lets a sidecar prove itself again that has not kept the proxy's flags", () => {
      const watched = { isServed: true, state: "observing", atMs: nowMs - 30 * second } as const;
      expect(step({ served: "current" }, watched)).to.deep.equal(["a updated 2"]);
      expect(step({ served: "behind" }, watched)).to.deep.equal(["a updating 2"]);
      expect(step({ served: "unknown" }, watched)).to.deep.equal([]);
      expect(step({}, watched)).to.deep.equal(["a updated 2"]);
      const early = { ...watched, atMs: nowMs - second };
      expect(step({ served: "behind" }, early), "an edit is under way").to.deep.equal([]);
    });

    it("watches it for a while, and takes a restart as a failure, but not a moment of not being ready", () => {
      const watched = { state: "observing", atMs: nowMs - 29 * second } as const;
      expect(step({}, watched)).to.deep.equal([]);
      expect(step({}, { ...watched, atMs: nowMs - 30 * second })).to.deep.equal(["a updated 2"]);
      expect(step({ restarts: 2 }, watched)).to.deep.equal(["a failing 1"]);
      expect(step({ isReady: false }, watched)).to.deep.equal(["a updating 2"]);
      expect(step({}, watched, { isReady: false })).to.deep.equal(["a updating 2"]);
      expect(step({ isStarted: false }, watched)).to.deep.equal(["a updating 2"]);
    });

    it("gives a Pod that is ready now and then no more time than any other", () => {
      const flapping = { atMs: nowMs - second, begunMs: nowMs - 120 * second };
      const { record: watched } = changeOf(
        plan([
          podOf("a", { ...renewed, record: { ...record, ...flapping, state: "observing" }, isReady: false }),
        ]),
      );
      expect(watched).to.include({ state: "updating", begunMs: flapping.begunMs });
      expect(step({ isReady: false }, flapping)).to.deep.equal(["a failing 1"]);
      expect(step({}, flapping), "it may be the last moment").to.deep.equal(["a observing 2"]);
    });

    it("waits until the old image runs again, however little else tells of it", () => {
      const back = { image: oldImage, record: { ...record, state: "failing" } } as const;
      expect(step(back), "the new one runs yet").to.deep.equal([]);
      expect(step({ ...back, imageID: record.imageID, isReady: false })).to.deep.equal([]);
      expect(step({ ...back, imageID: record.imageID })).to.deep.equal(["a failed 1"]);
    });

    it("leaves it to whoever has changed its image meanwhile", () => {
      expect(step({ image: "registry.example/agent:3" })).to.deep.equal(["a left 3"]);
      expect(step({}, {}, { phase: "Succeeded" })).to.deep.equal(["a left 2"]);
    });

    it("waits for no time that is yet to come, which somebody has written there or whose clock was ahead", () => {
      const late = { atMs: nowMs + 11 * second, begunMs: Date.parse("9999-01-01") };
      for (const state of ["updating", "observing", "failing", "reverting"] as const) {
        const pod = podOf("a", { ...renewed, isReady: false, record: { ...record, ...late, state } });
        const { record: next, image } = changeOf(plan([pod]));
        expect(image, "as it is").to.equal(newImage);
        expect(next, state).to.include({ state, atMs: nowMs, begunMs: nowMs });
      }
      const watched = { ...record, atMs: nowMs + 11 * second, state: "observing" } as const;
      const { record: next } = changeOf(plan([podOf("a", { ...renewed, record: watched })]));
      expect(next).to.include({ state: "observing", atMs: nowMs, begunMs: record.begunMs });
      const near = podOf("a", {
        ...renewed,
        record: { ...record, atMs: nowMs + 10 * second, state: "observing" },
      });
      expect(said(plan([near])), "clocks differ").to.deep.equal([]);
      expect(plan([near]).dueMs).to.equal(nowMs + 40 * second);
    });

    it("says when time alone has it go on", () => {
      const { dueMs } = plan([podOf("a", { record, image: newImage })]);
      expect(dueMs).to.equal(nowMs + 110 * second);
    });
  });

  describe("within budgets", () => {
    const all = rolloutOf({ maxInFlight: 100, perNode: 100, maxUnavailable: { percent: 25 } });
    /** So many are done that the last wave is on. */
    const done = Array.from({ length: 20 }, (_, index) => podOf(`done${index}`, renewed));
    const budget: FleetBudget = {
      ...{ namespace: "shop", name: "budget", allowed: 2 },
      selector: { matchLabels: { app: "web" } },
    };
    const begun = (pods: readonly FleetPod[], fleet: Partial<Fleet> = {}): number =>
      plan([...done, ...pods], { rollouts: [all], ...fleet }).changes.filter(
        ({ record: { state } }) => state === "updating",
      ).length;

    it("has a quarter of a workload under way, or one Pod of a small one", () => {
      expect(begun(named(9, { workload: "w" }))).to.equal(2);
      expect(begun(named(3, { workload: "w" }))).to.equal(1);
      const under = podOf("z", { record }, { workload: "w" });
      expect(begun([...named(8, { workload: "w" }), under]), "one is under way").to.equal(1);
    });

    it("begins with none of a workload that has another Pod which is not ready, whatever that is", () => {
      const bare = without(podOf("z", {}, { workload: "w", isReady: false }), "agent");
      expect(begun([...named(8, { workload: "w" }), bare])).to.equal(0);
      expect(begun([...named(8, { workload: "w" }), { ...bare, phase: "Succeeded" }])).to.equal(2);
    });

    it("counts what is under way against a PodDisruptionBudget, whether or not that has heard of it", () => {
      const pods = named(5, { labels: { app: "web" } });
      expect(begun(pods, { budgets: [budget] })).to.equal(2);
      const under = podOf("z", { record }, { labels: { app: "web" } });
      expect(begun([...pods, under], { budgets: [budget] })).to.equal(1);
      expect(begun(pods, { budgets: [{ ...budget, namespace: "other" }] })).to.equal(5);
      const ofNothing = without(budget, "selector");
      expect(begun(pods, { budgets: [{ ...ofNothing, allowed: 0 }] })).to.equal(5);
      expect(begun(pods, { budgets: [budget, { ...budget, allowed: 0 }] }), "each of them counts").to.equal(
        0,
      );
    });

    it("begins nothing in a namespace of more than 200 budgets, and goes on in others", () => {
      const pods = named(2, { labels: { app: "web" } });
      const budgets = Array.from({ length: 201 }, () => ({
        ...budget,
        selector: { matchLabels: { a: "b" } },
      }));
      expect(begun(pods, { budgets: budgets.slice(1) })).to.equal(2);
      expect(begun(pods, { budgets })).to.equal(0);
      expect(begun(pods, { budgets: budgets.map((each) => ({ ...each, namespace: "other" })) })).to.equal(2);
    });

    it("has one Pod of a node under way, of whatever rollout", () => {
      const one = rolloutOf({ perNode: 1, maxInFlight: 100 });
      expect(begun(named(5, { node: "n" }), { rollouts: [one] })).to.equal(1);
      const other = rolloutOf(
        { podSelector: { matchLabels: { of: "other" } } },
        { uid: "other", name: "other" },
      );
      const under = podOf("z", { record: { ...record, rollout: "other" } }, { node: "n" });
      expect(begun([...named(5, { node: "n" }), under], { rollouts: [one, other] })).to.equal(0);
    });
  });

  describe("of several rollouts", () => {
    const toOld = rolloutOf(
      { image: oldImage, from: ["registry.example/agent:*"] },
      { name: "back", uid: "back", createdMs: 1 },
    );

    it("lets the youngest decide, so that none takes back what another one has done", () => {
      expect(said(plan([podOf("a"), podOf("b", renewed)], { rollouts: [rolloutOf(), toOld] }))).to.deep.equal(
        ["b updating 1"],
      );
    });

    it("lets that which has begun bring it to its end", () => {
      const pods = [podOf("a", { ...renewed, record })];
      expect(said(plan(pods, { rollouts: [rolloutOf(), toOld] }))).to.deep.equal(["a observing 2"]);
    });

    it("is for the namespaces and Pods of its selectors alone", () => {
      const namespaces = new Map([["shop", { team: "shop" }]]);
      const begins = (settings: Parameters<typeof rolloutOf>[0]): number =>
        plan([podOf("a", {}, { labels: { app: "a" } })], { namespaces, rollouts: [rolloutOf(settings)] })
          .changes.length;
      expect(begins({ namespaceSelector: { matchLabels: { team: "shop" } } })).to.equal(1);
      expect(begins({ namespaceSelector: { matchLabels: { team: "other" } } })).to.equal(0);
      expect(begins({ podSelector: { matchExpressions: [{ key: "app", operator: "Exists" }] } })).to.equal(1);
      expect(begins({ podSelector: { matchLabels: { app: "b" } } })).to.equal(0);
      expect(plan([podOf("a")], { namespaces: new Map() }).changes, "an exempt one").to.deep.equal([]);
    });

    it("decides about no Pod outside of its selectors, whatever is written there of how far it is", () => {
      const forged = (state: AgentRecord["state"]): FleetPod =>
        podOf("a", { ...renewed, restarts: 9, record: { ...record, state, begunMs: 0, why: "It broke." } });
      const isWithout = (settings: Parameters<typeof rolloutOf>[0], fleet: Partial<Fleet> = {}): void => {
        for (const state of agentStates) {
          const planned = plan([forged(state)], { rollouts: [rolloutOf(settings)], ...fleet });
          expect(said(planned), state).to.deep.equal([]);
          expect(verdictOf(planned), state).to.deep.include({ phase: "Completed", desired: 0, inFlight: 0 });
          expect(verdictOf(planned).progress.failures, state).to.deep.equal([]);
        }
      };
      expect(said(plan([forged("observing")])), "of a Pod within").to.deep.equal(["a failing 1"]);
      isWithout({ namespaceSelector: { matchLabels: { team: "other" } } });
      isWithout({ podSelector: { matchLabels: { app: "b" } } });
      isWithout({}, { namespaces: new Map() });
    });
  });

  describe("after failures", () => {
    const failed = (name: string, atMs = nowMs - second): FleetPod =>
      podOf(name, { previous: oldImage, record: { ...record, state: "failed", why: "It broke.", atMs } });
    const updated = (name: string, rest: Partial<FleetPod> = {}): FleetPod =>
      podOf(name, { ...renewed, record: { ...record, state: "updated" } }, rest);
    const halted = { image: newImage, sinceMs: 0, halted: "It broke.", failures: [] };

    it("tries no Pod twice, and is done with the others", () => {
      const planned = plan([failed("a"), updated("b")]);
      expect(said(planned)).to.deep.equal([]);
      expect(verdictOf(planned)).to.deep.include({ phase: "Completed", desired: 2, updated: 1, ready: 1 });
      expect(verdictOf(planned).progress.failures).to.deep.equal([
        { pod: "shop/a", uid: "uid-of-a", atMs: nowMs - second, message: "It broke." },
      ]);
    });

    it("halts at the threshold, and has those go back that were updated", () => {
      const planned = plan([
        failed("a"),
        failed("b"),
        failed("c"),
        updated("d"),
        podOf("e"),
        podOf("f", renewed),
      ]);
      expect(said(planned), "f was created with the image").to.deep.equal(["d reverting 1"]);
      expect(verdictOf(planned)).to.deep.include({ phase: "Halted", toRevert: 1 });
      expect(verdictOf(planned).progress.halted).to.contain("3 Pods failed").and.contain("It broke.");
      const kept = plan([failed("a"), failed("b"), failed("c"), updated("d")], {
        rollouts: [rolloutOf({ rollsBack: false })],
      });
      expect(said(kept)).to.deep.equal([]);
    });

    it("stays halted though the Pods that failed are gone", () => {
      const planned = plan([podOf("a")], { rollouts: [rolloutOf({}, { progress: halted })] });
      expect(said(planned)).to.deep.equal([]);
      expect(verdictOf(planned).phase).to.equal("Halted");
    });

    it("counts Pods that failed and are gone", () => {
      const failures = ["x", "y"].map((uid) => ({ pod: `shop/${uid}`, uid, atMs: 1, message: "" }));
      const progress = { image: newImage, sinceMs: 0, failures };
      const planned = plan([failed("a")], { rollouts: [rolloutOf({}, { progress })] });
      expect(verdictOf(planned).phase).to.equal("Halted");
    });

    it("has Pods of one workload go back that are not ready, though each has another one like it", () => {
      const rollouts = [rolloutOf({}, { progress: halted })];
      const unready = { workload: "w", isReady: false };
      const planned = plan([updated("a", unready), updated("b", unready), updated("c", { workload: "w" })], {
        rollouts,
      });
      expect(said(planned)).to.deep.equal(["a reverting 1", "b reverting 1"]);
    });

    it("puts no text into a Pod that is no image, whatever it replaces", () => {
      const from = ["*"];
      for (const previous of ["../evil", "agent:1\n", " agent:1", "--privileged", "a".repeat(5_000)]) {
        const odd = podOf("a", { ...renewed, previous, record: { ...record, state: "updated" } });
        expect(said(plan([odd], { rollouts: [rolloutOf({ from }, { progress: halted })] }))).to.deep.equal(
          [],
        );
        const late = podOf("a", { ...renewed, previous, restarts: 2, record });
        expect(said(plan([late], { rollouts: [rolloutOf({ from })] }))).to.deep.equal(["a failed 2"]);
      }
    });

    it("gives a Pod no image that the rollout would not have replaced, whoever has written there that it was the one before", () => {
      const rollouts = [rolloutOf({ from: ["registry.example/agent:*"] }, { progress: halted })];
      for (const previous of ["evil.example/agent:1", "registry.example/agent-evil:1"]) {
        const done = podOf("a", { ...renewed, previous, record: { ...record, state: "updated" } });
        expect(said(plan([done], { rollouts })), previous).to.deep.equal([]);
        expect(verdictOf(plan([done], { rollouts })).toRevert, "nothing waits for it").to.equal(0);
        const broken = changeOf(plan([podOf("a", { ...renewed, previous, restarts: 2, record })]));
        expect(broken, previous).to.deep.include({ image: newImage });
        expect(broken.record).to.deep.include({ state: "failed" });
        expect(broken.record.why).to.contain("is as spec.from, so it stays");
        for (const state of ["failing", "reverting"] as const) {
          const [{ image } = { image: newImage }] = plan([
            podOf("a", { ...renewed, previous, record: { ...record, state } }),
          ]).changes;
          expect(image, state).to.equal(newImage);
        }
      }
    });

    it("counts them, and tries none again, also with a clock that is behind that of the operator before", () => {
      const sinceMs = nowMs + 3_600 * second;
      const progress = { image: newImage, sinceMs, failures: [] };
      const begun = changeOf(plan([podOf("a")], { rollouts: [rolloutOf({}, { progress })] }));
      const broken = {
        previous: oldImage,
        record: { ...begun.record, state: "failed", why: "It broke." },
      } as const;
      const planned = plan([podOf("a", broken)], { rollouts: [rolloutOf({}, { progress })] });
      expect(said(planned)).to.deep.equal([]);
      expect(verdictOf(planned).progress.failures).to.have.lengthOf(1);
      expect(verdictOf(planned).phase).to.equal("Completed");
    });

    it("begins anew with another image, and after a pause", () => {
      const paused = plan([failed("a"), updated("b"), podOf("c")], {
        rollouts: [rolloutOf({ isPaused: true }, { progress: halted })],
      });
      expect(said(paused)).to.deep.equal([]);
      const { phase, progress } = verdictOf(paused);
      expect(phase).to.equal("Paused");
      expect(progress).to.deep.equal({ image: newImage, sinceMs: nowMs, failures: [] });
      const resumed = plan([failed("a"), podOf("c")], { rollouts: [rolloutOf({}, { progress })] });
      expect(said(resumed), "also with what has failed").to.deep.equal(["a updating 2"]);
      const image = "registry.example/agent:3";
      const edited = plan([failed("a")], { rollouts: [rolloutOf({ image }, { progress: halted })] });
      expect(verdictOf(edited).progress).to.deep.equal({ image, sinceMs: nowMs, failures: [] });
    });
  });

  it("brings to its end what is under way while it is paused", () => {
    const pods = [podOf("a", { ...renewed, record }), podOf("b")];
    expect(said(plan(pods, { rollouts: [rolloutOf({ isPaused: true })] }))).to.deep.equal(["a observing 2"]);
  });

  it("begins with nobody while it is paused", () => {
    const begun = (isPaused: boolean): readonly string[] =>
      said(plan([podOf("a")], { rollouts: [rolloutOf({ isPaused })] }));
    expect([begun(false).length, begun(true)]).to.deep.equal([1, []]);
  });

  it("does nothing for what is no image", () => {
    const refused = rolloutOf({ refused: "spec.image is no image" });
    expect(said(plan([podOf("a")], { rollouts: [refused] }))).to.deep.equal([]);
    expect(verdictOf(plan([podOf("a")], { rollouts: [refused] })).phase).to.equal("Refused");
  });
});
