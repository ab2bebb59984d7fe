import type { FlagRolloutPhase, FlagRolloutStatus } from "@bunting/featureflags/resources";
import { lookAtWave, reachOf, watchOf, type WaveLook, type WaveWatch } from "./push-wave.js";
import type { PushEvidence } from "./told-push.js";

/** What is stored of a rollout, but for the whole version. */
export type PushRecord = Omit<FlagRolloutStatus, "whole">;

/** What spec.rollout asks for, as it is computed with. */
export interface PushSettings {
  /** Percentages, ascending. */
  readonly waves: readonly number[];
  readonly observeMs: number;
  readonly maxRefusing: number;
  readonly isPaused: boolean;
}

export interface PushInputs {
  readonly settings: PushSettings;
  /** The newest version of the flags. */
  readonly digest: string;
  /** The version that all agents are to have; undefined if that was never stored. */
  readonly wholeDigest: string | undefined;
  readonly before: PushRecord | undefined;
  /** Somebody has given this version up. */
  readonly isAborted: boolean;
  /** What somebody has written to resume a rollout. */
  readonly resumed: string | undefined;
  /** Undefined while it is not known of all proxies. */
  readonly evidence: PushEvidence | undefined;
  readonly watch: WaveWatch | undefined;
  readonly nowMs: number;
}

export interface PushVerdict {
  readonly record: PushRecord;
  /** The newest version is the whole one from now on. */
  readonly takesWhole: boolean;
  /** Why it is as it is. */
  readonly why: PushReason;
  readonly watch: WaveWatch | undefined;
  /** When to look again, at the latest; undefined: when the FeatureFlag changes. */
  readonly againMs: number | undefined;
}

/** What makes a rollout go on, or keeps it from that. `halted`: what has halted it before. `silent`: a proxy does not say which agents it has. */
export type PushReason =
  WaveLook["is"] | "whole" | "first" | "paused" | "refused" | "halted" | "aborted" | "silent";

/** What happens to a rollout. `withdraw`: the order to give it up is taken back. */
type PushEvent = "abort" | "withdraw" | "resume" | "halt" | "pause" | "go" | "advance" | "complete" | "wait";

/** The only table of what follows upon what; where it has nothing, the event means nothing. Edits begin anew, with another digest. */
const transitions: Readonly<Record<FlagRolloutPhase, Partial<Record<PushEvent, FlagRolloutPhase>>>> = {
  Progressing: {
    abort: "Aborted",
    resume: "Progressing",
    halt: "Halted",
    pause: "Paused",
    advance: "Progressing",
    complete: "Whole",
  },
  Paused: { abort: "Aborted", halt: "Halted", go: "Progressing" },
  Halted: { abort: "Aborted", resume: "Progressing" },
  Aborted: { withdraw: "Progressing" },
  Whole: {},
};

const lookEveryMs = 5_000;

/** What becomes of a rollout now. It depends on nothing but its inputs, so whoever leads decides the same. */
export function nextPush(inputs: PushInputs): PushVerdict {
  const { digest, wholeDigest, before, evidence } = inputs;
  if (wholeDigest === undefined || digest === wholeDigest) {
    const record = wholeRecord(inputs, before?.agents ?? 0);
    const isFirst = wholeDigest === undefined;
    const why = isFirst ? "first" : "whole";
    return { record, takesWhole: isFirst, why, watch: undefined, againMs: undefined };
  }
  const record = before?.digest === digest && before.phase !== "Whole" ? before : begun(inputs);
  const { event, why, look } = nextEvent(record, inputs);
  const phase = transitions[record.phase][event];
  const agents = Math.max(record.agents, evidence?.agents ?? 0);
  // It stays until the next wave is written, which may have to wait.
  const watch = look?.watch ?? unobserved(event, record, inputs.watch);
  const tried = record.wave === 0 ? 0 : Math.max(record.tried, watch?.peak ?? 0);
  const rest = { why, watch, againMs: againMs(phase ?? record.phase, why, look) };
  if (phase === undefined) return { record: { ...record, agents, tried }, takesWhole: false, ...rest };
  if (phase === "Whole") {
    return {
      record: wholeRecord(inputs, evidence?.agents ?? 0),
      takesWhole: true,
      ...rest,
      againMs: undefined,
    };
  }
  const next = { ...record, phase, agents, tried, ...changes(event, record, inputs) };
  return { record: next, takesWhole: false, ...rest };
}

/** A wave that nobody looks at for now is observed anew afterwards, and still misses the agents that it has had, unless somebody has had it go on without them. */
function unobserved(
  event: PushEvent,
  record: PushRecord,
  watch: WaveWatch | undefined,
): WaveWatch | undefined {
  const before = watchOf(record, watch);
  return before && event !== "resume" ? { ...before, settledMs: undefined } : undefined;
}

function wholeRecord({ digest, resumed, settings }: PushInputs, agents: number): PushRecord {
  const wave = settings.waves.length + 1;
  return { digest, phase: "Whole", wave, reach: 0, agents, tried: 0, forgiven: 0, ...withResumed(resumed) };
}

function begun({ digest, before, resumed }: PushInputs): PushRecord {
  const agents = before?.agents ?? 0;
  const counts = { reach: 0, agents, tried: 0, forgiven: 0 };
  return { digest, phase: "Progressing", wave: 0, ...counts, ...withResumed(resumed) };
}

function withResumed(resumed: string | undefined): Pick<PushRecord, "resumed"> {
  return resumed === undefined ? {} : { resumed };
}

function againMs(phase: FlagRolloutPhase, why: PushReason, look: WaveLook | undefined): number | undefined {
  if (phase === "Progressing") return Math.min(lookEveryMs, look?.leftMs ?? lookEveryMs);
  // One that was resumed while a proxy was silent goes on as soon as that speaks.
  return phase === "Paused" || why === "silent" ? lookEveryMs : undefined;
}

interface NextEvent {
  readonly event: PushEvent;
  readonly why: PushReason;
  readonly look?: WaveLook;
}

function nextEvent(record: PushRecord, inputs: PushInputs): NextEvent {
  const { isAborted, resumed, settings, evidence } = inputs;
  const { phase, forgiven } = record;
  if (isAborted) return { event: "abort", why: "aborted" };
  if (phase === "Aborted") return { event: "withdraw", why: "unknown" };
  // Also while nobody is known to complain: that may be because a proxy is away.
  if (phase === "Halted" && resumed === record.resumed) return { event: "wait", why: "halted" };
  if (evidence === undefined) return { event: "wait", why: "silent" };
  // Of one that goes on, it says that agents that have gone are not missed.
  if (phase !== "Paused" && resumed !== record.resumed) return { event: "resume", why: "unknown" };
  if (evidence.refusals > forgiven + settings.maxRefusing) return { event: "halt", why: "refused" };
  if (settings.isPaused) return { event: "pause", why: "paused" };
  if (phase === "Paused") return { event: "go", why: "unknown" };
  return waveEvent(record, inputs, evidence);
}

function waveEvent(
  { digest, wave, reach, agents, tried }: PushRecord,
  { settings, watch, nowMs }: PushInputs,
  evidence: PushEvidence,
): NextEvent {
  const { waves, observeMs } = settings;
  const look = lookAtWave({ digest, wave, reach, known: agents, tried, evidence, watch, observeMs, nowMs });
  const { is } = look;
  if (is !== "over" && is !== "nobody") return { event: "wait", why: is, look };
  const isLast = waveAfter({ wave, reach }, waves) === undefined;
  const event = is === "nobody" || isLast ? "complete" : "advance";
  return { event, why: is, look };
}

/** The next wave; undefined after the last. It may have the number of an earlier one, where the percentages were edited meanwhile: none that is more is left out. */
function waveAfter(
  { wave, reach }: Pick<PushRecord, "wave" | "reach">,
  waves: readonly number[],
): { readonly number: number; readonly percent: number } | undefined {
  const index = waves.findIndex((percent, at) => at >= wave || reachOf(percent, 0, 0) > reach);
  const percent = waves[index];
  return percent === undefined ? undefined : { number: index + 1, percent };
}

/** What an event changes beside the phase. */
function changes(
  event: PushEvent,
  { wave, reach, forgiven }: PushRecord,
  { settings, evidence, resumed }: PushInputs,
): Partial<PushRecord> {
  switch (event) {
    case "advance": {
      const { number = wave, percent = 100 } = waveAfter({ wave, reach }, settings.waves) ?? {};
      return { wave: number, tried: 0, reach: reachOf(percent, evidence?.lowest ?? 0, reach) };
    }
    case "abort":
      return { wave: 0, reach: 0, tried: 0 };
    case "halt":
      return withResumed(resumed);
    case "resume": {
      const { refusals = 0, lowest, wave: there = 0, agents = 0 } = evidence ?? {};
      const isEmpty = wave > 0 && there === 0 && lowest !== undefined;
      return {
        forgiven: Math.max(forgiven, refusals),
        tried: 0,
        ...(isEmpty ? { reach: reachOf(0, lowest, reach) } : {}),
        ...(agents === 0 ? { agents } : {}),
        ...withResumed(resumed),
      };
    }
    case "withdraw":
    case "pause":
    case "go":
    case "complete":
    case "wait":
      return {};
  }
}
