import { hasEnded } from "@bunting/featureflags/resources";
import { isInFlight, type AgentRecord } from "./agent-record.js";
import { dueMs, nextStep, type PodChange } from "./agent-step.js";
import { Capacity, type WaitReason } from "./capacity.js";
import { claims, type ClaimedPod } from "./claims.js";
import type { Failure, Fleet, FleetPod, FleetRollout, RolloutProgress } from "./fleet.js";
import { nodesWithImage, planPulls, type PullPlan } from "./plan-pulls.js";
import { imageToRestore } from "./replaced-image.js";

/** Where a rollout is, as its status says. */
export interface RolloutVerdict {
  readonly rollout: FleetRollout;
  readonly phase: "Progressing" | "Completed" | "Paused" | "Halted" | "Refused";
  readonly desired: number;
  readonly updated: number;
  readonly ready: number;
  readonly inFlight: number;
  /** Updated ones that go back yet. */
  readonly toRevert: number;
  /** Pods that nothing was begun with, by why. */
  readonly waiting: ReadonlyMap<WaitReason, number>;
  /** Pods that an API server refuses to change, in the order of their names. */
  readonly refused: readonly FleetPod[];
  readonly pulls: PullPlan;
  /** The progress that has to be written before anything else is begun. */
  readonly progress: RolloutProgress;
}

export interface FleetPlan {
  /** In any order, and any of them may fail: no budget is exceeded if only some are made. */
  readonly changes: readonly PodChange[];
  readonly verdicts: readonly RolloutVerdict[];
  /** When there is something to do though nothing changes; Infinity: never. */
  readonly dueMs: number;
}

/** The last failures that are kept; the threshold is not above. */
const maxFailures = 10;

/**
 * What is to be done now. It knows nothing but the objects: a restarted operator goes on where another one was, and whatever it finds, no more is
 * begun than budgets have room for.
 */
export function planFleet(fleet: Fleet, nowMs: number): FleetPlan {
  const claimed = claims(fleet);
  const inFlight = claimed.filter(({ agent }) => isInFlight(agent.record));
  const steps = inFlight.flatMap((claim) => step(claim, nowMs));
  const capacity = new Capacity(fleet.pods, fleet.budgets, inFlight);
  const parts = fleet.rollouts.map((rollout) => {
    const own = claimed.filter((each) => each.rollout === rollout);
    return planRollout({ rollout, own, steps, capacity, fleet, nowMs });
  });
  const due = inFlight.flatMap(({ agent: { record }, rollout: { settings } }) =>
    record === undefined ? [] : [dueMs({ record, settings })],
  );
  return {
    changes: [...steps, ...parts.flatMap(({ begun }) => begun)],
    verdicts: parts.map(({ verdict }) => verdict),
    dueMs: Math.min(Infinity, ...due, ...parts.map((part) => part.dueMs)),
  };
}

function step({ pod, agent, rollout: { settings } }: ClaimedPod, nowMs: number): readonly PodChange[] {
  const { record } = agent;
  const change = record === undefined ? undefined : nextStep({ pod, agent, record, settings, nowMs });
  return change === undefined ? [] : [change];
}

interface RolloutInputs {
  readonly rollout: FleetRollout;
  /** What it decides about. */
  readonly own: readonly ClaimedPod[];
  readonly steps: readonly PodChange[];
  readonly capacity: Capacity;
  readonly fleet: Fleet;
  readonly nowMs: number;
}

interface RolloutPart {
  readonly begun: readonly PodChange[];
  readonly verdict: RolloutVerdict;
  readonly dueMs: number;
}

function planRollout(inputs: RolloutInputs): RolloutPart {
  const { rollout, own } = inputs;
  const { settings } = rollout;
  const progress = progressOf(inputs);
  // Whatever is begun must count for what is written, or a restarted operator would forget how it ended.
  const isWritten = isSameEra(rollout.progress, progress);
  const { halted } = progress;
  const mayBegin = isWritten && settings.refused === undefined && !settings.isPaused;
  const reverting = halted !== undefined && settings.rollsBack ? own.filter(mayRevert(rollout)) : [];
  const pending = halted === undefined ? own.filter((each) => isPending(each, progress)) : [];
  const tried = (claimed: readonly ClaimedPod[]): Begun =>
    halted === undefined ? beginUpdates(claimed, inputs, progress) : beginReverts(claimed, inputs);
  const tries = mayBegin ? tried(halted === undefined ? pending : reverting) : idle;
  const { begun, waiting, lacking } = tries;
  const isOnTheWay = pending.length > 0 && settings.refused === undefined;
  const wanted = isOnTheWay ? lacking : undefined;
  const pulls = planPulls({ rollout, pulls: inputs.fleet.pulls ?? [], wanted, nowMs: inputs.nowMs });
  const inFlight = own.filter(({ agent }) => isInFlight(agent.record)).length;
  const updated = own.filter((each) => isUpdated(each));
  const isDone = pending.length === 0 && inFlight === 0;
  return {
    begun,
    dueMs: Math.min(tries.dueMs, pulls.dueMs),
    verdict: {
      rollout,
      phase: phaseOf(settings, halted, isDone),
      desired: own.filter(({ pod }) => !isOver(pod)).length,
      updated: updated.length,
      ready: updated.filter(({ pod }) => pod.isReady).length,
      inFlight,
      toRevert: reverting.length,
      waiting,
      refused: refusedOf(own),
      pulls,
      progress,
    },
  };
}

function phaseOf(
  { refused, isPaused }: FleetRollout["settings"],
  halted: string | undefined,
  isDone: boolean,
): RolloutVerdict["phase"] {
  if (refused !== undefined) return "Refused";
  if (isPaused) return "Paused";
  if (halted !== undefined) return "Halted";
  return isDone ? "Completed" : "Progressing";
}

/** What counts: another image and a pause begin anew. */
function progressOf({ rollout, own, steps, nowMs }: RolloutInputs): RolloutProgress {
  const { settings, progress: known, uid } = rollout;
  const { image } = settings;
  const isForgiven =
    known !== undefined && settings.isPaused && (known.halted !== undefined || known.failures.length > 0);
  if (known?.image !== image || isForgiven) return { image, sinceMs: nowMs, failures: [] };
  const failures = new Map(known.failures.map((failure) => [failure.uid, failure]));
  const failed = (pod: FleetPod, record: AgentRecord): void => {
    if (record.rollout !== uid || record.image !== image || record.sinceMs !== known.sinceMs) return;
    if (record.state !== "failing" && record.state !== "failed") return;
    failures.set(pod.uid, failureOf(pod, record, failures.get(pod.uid)));
  };
  for (const { pod, agent } of own) if (agent.record !== undefined) failed(pod, agent.record);
  for (const { pod, record } of steps) failed(pod, record);
  const kept = [...failures.values()].sort((a, b) => a.atMs - b.atMs).slice(-maxFailures);
  const halted = known.halted ?? haltOf(kept, settings.failureThreshold);
  return {
    image,
    sinceMs: known.sinceMs,
    failures: kept,
    ...(halted === undefined || settings.isPaused ? {} : { halted }),
  };
}

function failureOf(pod: FleetPod, { atMs, why = "" }: AgentRecord, known: Failure | undefined): Failure {
  return { pod: pod.key, uid: pod.uid, atMs: known?.atMs ?? atMs, message: why };
}

function haltOf(failures: readonly Failure[], threshold: number): string | undefined {
  const last = failures.at(-1);
  if (last === undefined || failures.length < threshold) return undefined;
  return `${failures.length} Pods failed, the last of them ${last.pod}: ${last.message}`;
}

function isSameEra(known: RolloutProgress | undefined, next: RolloutProgress): boolean {
  return known?.image === next.image && known.sinceMs === next.sinceMs;
}

function isOver(pod: FleetPod): boolean {
  return pod.isEnding || hasEnded(pod);
}

/** A refusal changes nothing, so it is no failure: nothing goes back because of it. */
function refusedOf(own: readonly ClaimedPod[]): readonly FleetPod[] {
  const refused = own.map(({ pod }) => pod).filter((pod) => pod.refusal !== undefined && !isOver(pod));
  return refused.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** True if it has the image, and nothing more is to be seen of it. */
function isUpdated({ pod, agent, rollout }: ClaimedPod): boolean {
  return !isOver(pod) && agent.image === rollout.settings.image && !isInFlight(agent.record);
}

/** True for a Pod that is to get the image, now or later. */
function isPending({ pod, agent, rollout }: ClaimedPod, { sinceMs }: RolloutProgress): boolean {
  const { record } = agent;
  if (isOver(pod) || isInFlight(record) || agent.image === rollout.settings.image) return false;
  const wasTried =
    record?.rollout === rollout.uid && record.image === rollout.settings.image && record.sinceMs === sinceMs;
  return !wasTried;
}

function mayRevert({ uid, settings }: FleetRollout): (claim: ClaimedPod) => boolean {
  return ({ pod, agent, agent: { record, image } }) =>
    !isOver(pod) &&
    record?.state === "updated" &&
    record.rollout === uid &&
    record.image === settings.image &&
    image === settings.image &&
    imageToRestore(agent, settings) !== undefined;
}

interface Begun {
  readonly begun: readonly PodChange[];
  readonly waiting: ReadonlyMap<WaitReason, number>;
  /** Nodes that need the image for Pods of this wave, first those of Pods that wait for nothing else. */
  readonly lacking: readonly string[];
  readonly dueMs: number;
}

const idle: Begun = { begun: [], waiting: new Map(), lacking: [], dueMs: Infinity };

function beginUpdates(
  pending: readonly ClaimedPod[],
  { rollout, own, capacity, fleet, nowMs }: RolloutInputs,
  { sinceMs }: RolloutProgress,
): Begun {
  const { settings, uid } = rollout;
  const isFailed = ({ agent: { record } }: ClaimedPod): boolean =>
    record?.rollout === uid &&
    record.image === settings.image &&
    record.state === "failed" &&
    record.sinceMs === sinceMs;
  const ended = own.filter((each) => (isUpdated(each) && each.pod.isReady) || isFailed(each)).length;
  const inFlight = own.filter(({ agent }) => isInFlight(agent.record)).length;
  let left = waveLimit(own.filter(({ pod }) => !isOver(pod)).length, ended) - ended - inFlight;
  // Those refused are tried again; what has no end is to try all others as well.
  const isRefusedEverywhere = refusedOf(own).length >= settings.failureThreshold;
  const lacking = { first: new Set<string>(), then: new Set<string>() };
  const nodes = settings.prePulls ? nodesWithImage(rollout, fleet.pulls ?? []) : undefined;
  const obstacle = ({ pod }: ClaimedPod): WaitReason | undefined => {
    if (pod.phase !== "Running" || !pod.isReady || pod.node === "") return "NotReady";
    if (nowMs < pod.createdMs + settings.minAgeMs) return "Young";
    if (isRefusedEverywhere && pod.refusal === undefined) return "Refusals";
    // How a sidecar was before would not be known.
    if (fleet.areProxiesUnknown === true) return "Proxies";
    if (left <= 0) return "Wave";
    const full = capacity.obstacle(pod, rollout);
    if (nodes?.has(pod.node) !== false) return full;
    lacking[full === undefined ? "first" : "then"].add(pod.node);
    return full ?? "Image";
  };
  const result = begin(pending, obstacle, ({ pod, agent }) => {
    left--;
    capacity.take(pod, rollout);
    const { image: previous, imageID, restarts } = agent;
    const times = { atMs: nowMs, begunMs: nowMs, sinceMs };
    const record = { rollout: uid, image: settings.image, imageID, restarts, ...times };
    return { pod, image: settings.image, previous, record: { ...record, state: "updating" } };
  });
  const ages = pending.map(({ pod }) => pod.createdMs + settings.minAgeMs).filter((atMs) => atMs > nowMs);
  const wanted = [...lacking.first, ...lacking.then].slice(0, Math.max(0, left));
  return { ...result, lacking: wanted, dueMs: Math.min(Infinity, ...ages) };
}

function beginReverts(reverting: readonly ClaimedPod[], { rollout, capacity, nowMs }: RolloutInputs): Begun {
  const obstacle = ({ pod }: ClaimedPod): WaitReason | undefined => capacity.obstacle(pod, rollout);
  const result = begin(reverting, obstacle, ({ pod, agent, agent: { record } }) => {
    const image = imageToRestore(agent, rollout.settings);
    if (record === undefined || image === undefined) return undefined;
    capacity.take(pod, rollout);
    return { pod, image, record: { ...record, state: "reverting", atMs: nowMs } };
  });
  return { ...result, lacking: [], dueMs: Infinity };
}

function begin(
  candidates: readonly ClaimedPod[],
  obstacle: (claim: ClaimedPod) => WaitReason | undefined,
  change: (claim: ClaimedPod) => PodChange | undefined,
): Pick<Begun, "begun" | "waiting"> {
  const begun: PodChange[] = [];
  const waiting = new Map<WaitReason, number>();
  for (const candidate of [...candidates].sort((a, b) => (a.pod.key < b.pod.key ? -1 : 1))) {
    const why = obstacle(candidate);
    if (why !== undefined) waiting.set(why, (waiting.get(why) ?? 0) + 1);
    const made = why === undefined ? change(candidate) : undefined;
    if (made !== undefined) begun.push(made);
  }
  return { begun, waiting };
}

/**
 * How many Pods may be begun with in all, when so many have come to an end: first one, then a hundredth of all, then a tenth, then the rest. A wave
 * begins when all of those before have ended.
 */
function waveLimit(desired: number, ended: number): number {
  let limit = 0;
  for (const size of [1, Math.ceil(desired / 100), Math.ceil(desired / 10)]) {
    limit += size;
    if (ended < limit) return limit;
  }
  return Infinity;
}
