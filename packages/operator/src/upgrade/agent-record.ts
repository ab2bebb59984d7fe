import { singleLine } from "@bunting/runtime";

/**
 * How far a rollout is with a Pod:
 *
 * - updating: it has the new image, and is not proven to run with it yet.
 * - observing: it runs with it, and is watched for a while; if it is not ready for a moment, it is updating again.
 * - updated: it has been watched long enough.
 * - failing: it has its old image back after a failure, and does not run with that yet.
 * - failed: likewise, and that is over.
 * - reverting: it was updated, and has its old image back because the rollout has halted; it does not run with that yet.
 * - reverted: likewise, and that is over.
 * - left: somebody else changed its image meanwhile.
 */
export const agentStates = [
  "updating",
  "observing",
  "updated",
  "failing",
  "failed",
  "reverting",
  "reverted",
  "left",
] as const;
export type AgentState = (typeof agentStates)[number];

/** What a rollout has done to a Pod. It is an annotation of the Pod, and all that a restarted operator knows. */
export interface AgentRecord {
  /** The uid of the AgentRollout. */
  readonly rollout: string;
  /** Of the rollout's progress then. What has begun before the last edit or pause does not count, whatever clock the operator of that time had. */
  readonly sinceMs: number;
  /** The image that the rollout gave, or tried to. */
  readonly image: string;
  readonly state: AgentState;
  /** When it entered the state, in ms since 1970. */
  readonly atMs: number;
  /** When the rollout gave the image, likewise: the Pod has until then and the deadline to run with it, however often it seemed to. */
  readonly begunMs: number;
  /** The ID of the image, and the restarts, that the sidecar had before. */
  readonly imageID: string;
  readonly restarts: number;
  /** True if the proxies said before that the sidecar has what they serve: then they have to say so again. */
  readonly isServed?: boolean;
  /** Why it failed. */
  readonly why?: string;
}

const inFlight: ReadonlySet<AgentState> = new Set(["updating", "observing", "failing", "reverting"]);

/** True while a Pod counts against all budgets. */
export function isInFlight(record: AgentRecord | undefined): boolean {
  return record !== undefined && inFlight.has(record.state);
}

/** Longer annotations are nobody's of us. */
const maxLength = 4_096;
const maxWhyLength = 256;

export function formatRecord({ atMs, begunMs, sinceMs, isServed, why, ...record }: AgentRecord): string {
  const times = { at: timeText(atMs), begun: timeText(begunMs), since: timeText(sinceMs) };
  return JSON.stringify({
    ...record,
    ...times,
    ...(isServed === true ? { served: true } : {}),
    ...(why === undefined ? {} : { why: why.slice(0, maxWhyLength) }),
  });
}

/** Undefined for what is no record: whoever may edit a Pod can write anything there. */
export function parseRecord(text: string | undefined): AgentRecord | undefined {
  if (text === undefined || text.length > maxLength) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { rollout, image, state, at, begun, since, imageID, restarts, served, why } = value as Readonly<
    Record<string, unknown>
  >;
  const [atMs, begunMs, sinceMs] = [timeOf(at), timeOf(begun), timeOf(since)];
  const known = agentStates.find((each) => each === state);
  if (typeof rollout !== "string" || typeof image !== "string" || typeof imageID !== "string")
    return undefined;
  if (known === undefined || !Number.isFinite(atMs + begunMs + sinceMs) || typeof restarts !== "number")
    return undefined;
  // People read it in a status and in events, on their terminals.
  const told = typeof why === "string" ? { why: singleLine(why.slice(0, maxWhyLength)) } : {};
  const proof = served === true ? { isServed: true } : {};
  return { rollout, image, state: known, atMs, begunMs, sinceMs, imageID, restarts, ...proof, ...told };
}

/** The record with no time that is yet to come; undefined if it has none. Nobody waits until then: a leader's clock was ahead, or somebody has written it. */
export function withoutFuture(record: AgentRecord, nowMs: number): AgentRecord | undefined {
  const { atMs, begunMs } = record;
  if (Math.max(atMs, begunMs) <= nowMs + maxAheadMs) return undefined;
  return { ...record, atMs: Math.min(atMs, nowMs), begunMs: Math.min(begunMs, nowMs) };
}

/** Clocks of machines differ by so much without anybody's fault. */
const maxAheadMs = 10_000;

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Not a number for what is no time. */
function timeOf(value: unknown): number {
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}
