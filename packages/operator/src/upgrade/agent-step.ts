import { hasEnded } from "@bunting/featureflags/resources";
import { isInFlight, withoutFuture, type AgentRecord, type AgentState } from "./agent-record.js";
import type { FleetAgent, FleetPod } from "./fleet.js";
import { imageToRestore } from "./replaced-image.js";
import type { RolloutSettings } from "./rollout-settings.js";

/** A change that is to be written to a Pod. */
export interface PodChange {
  readonly pod: FleetPod;
  /** The image of the sidecar, which may be the one that it has. */
  readonly image: string;
  /** The image before, if that is news. */
  readonly previous?: string;
  readonly record: AgentRecord;
}

/** A Pod that is under way, and what it is held to. */
export interface StepInputs {
  readonly pod: FleetPod;
  readonly agent: FleetAgent;
  readonly record: AgentRecord;
  readonly settings: RolloutSettings;
  readonly nowMs: number;
}

interface Step {
  readonly state: AgentState;
  readonly why?: string;
  readonly image?: string;
}

/** What a Pod that is under way does next; undefined while it has to wait. */
export function nextStep(inputs: StepInputs): PodChange | undefined {
  const { pod, agent, record, nowMs } = inputs;
  const present = withoutFuture(record, nowMs);
  if (present !== undefined) return { pod, image: agent.image, record: present };
  const step = isOver(inputs) ? { state: leaving[record.state] ?? record.state } : stepOf(inputs);
  if (step === undefined || step.state === record.state) return undefined;
  const { state, why, image = agent.image } = step;
  const told = why ?? record.why;
  const next = { ...record, state, atMs: nowMs, ...(told === undefined ? {} : { why: told }) };
  return { pod, image, record: next };
}

/** When time alone makes the next step. */
export function dueMs({ record, settings }: Pick<StepInputs, "record" | "settings">): number {
  if (!isInFlight(record)) return Infinity;
  if (record.state === "observing") return record.atMs + settings.observeMs;
  return (record.state === "updating" ? record.begunMs : record.atMs) + settings.deadlineMs;
}

/** Where Pods go that have ended, or whose image somebody else has changed. */
const leaving: Partial<Record<AgentState, AgentState>> = {
  updating: "left",
  observing: "left",
  failing: "failed",
  reverting: "left",
};

function isOver({ pod, agent, record }: StepInputs): boolean {
  const isBack = record.state === "failing" || record.state === "reverting";
  const expected = isBack ? agent.previous : record.image;
  return agent.image !== expected || hasEnded(pod);
}

/** The transitions of what is under way. */
function stepOf(inputs: StepInputs): Step | undefined {
  switch (inputs.record.state) {
    case "updating":
      return afterUpdating(inputs);
    case "observing":
      return afterObserving(inputs);
    case "failing":
      return afterReturning(inputs, "failed");
    case "reverting":
      return afterReturning(inputs, "reverted");
    case "updated":
    case "failed":
    case "reverted":
    case "left":
      return undefined;
  }
}

function afterUpdating(inputs: StepInputs): Step | undefined {
  const { pod, agent, record, nowMs } = inputs;
  const more = agent.restarts - record.restarts;
  if (more > 1) return failure(inputs, `restarted ${more} times with it`);
  const isNew = agent.imageID !== "" && agent.imageID !== record.imageID && more === 1;
  const runs = isNew && agent.isStarted && agent.isReady && pod.isReady;
  if (runs && isProven(inputs)) return { state: "observing" };
  // A proxy that is away is not the image's fault.
  if (nowMs < dueMs(inputs) || (runs && agent.served === "unknown")) return undefined;
  if (agent.trouble !== undefined) return failure(inputs, `did not start with it: ${agent.trouble}`);
  // The kubelet does not say of a sidecar that its image can't be pulled: the container of before stays the last.
  if (!isNew && !agent.isStarted)
    return failure(
      inputs,
      "was stopped, but not started with it in time: see events of the Pod for whether its node can pull the image",
    );
  if (!isNew) return failure(inputs, "was not started with another image in time");
  if (runs)
    return failure(
      inputs,
      "was ready with it, but did not in time have what the proxy serves, which it had before",
    );
  return failure(
    inputs,
    agent.isReady ? "left its Pod not ready with it" : "was not, or not for long, ready with it in time",
  );
}

function afterObserving(inputs: StepInputs): Step | undefined {
  const { pod, agent, record, nowMs } = inputs;
  const more = agent.restarts - record.restarts;
  if (more !== 1) return failure(inputs, `restarted ${more} times with it`);
  // A probe may fail once: on a busy node soon after the start.
  if (!agent.isStarted || !agent.isReady || !pod.isReady) return { state: "updating" };
  if (nowMs < dueMs(inputs) || agent.served === "unknown") return undefined;
  return { state: isProven(inputs) ? "updated" : "updating" };
}

/**
 * What had the proxy's flags before has to have them again. Nobody expects it where no proxy can say it, or none had the
 * sidecar: it may have other sources.
 */
function isProven({ agent, record }: StepInputs): boolean {
  return record.isServed !== true || agent.served === undefined || agent.served === "current";
}

/** The old image is put back, if it is known. */
function failure({ agent, record, settings }: StepInputs, what: string): Step {
  const why = `The sidecar was given ${record.image}, and ${what}.`;
  const image = imageToRestore(agent, settings);
  if (image !== undefined) return { state: "failing", why, image };
  return { state: "failed", why: `${why} No image of before is known that is as spec.from, so it stays.` };
}

function afterReturning(inputs: StepInputs, end: "failed" | "reverted"): Step | undefined {
  const { pod, agent, record, nowMs } = inputs;
  const isBack = agent.imageID === record.imageID && agent.isStarted && agent.isReady && pod.isReady;
  if (isBack) return { state: end };
  if (nowMs < dueMs(inputs)) return undefined;
  return {
    state: end,
    why: `${record.why ?? "It has its old image back."} It was not ready with that in time, either.`,
  };
}
