import type { PushEvidence } from "./told-push.js";

/** Agents fall into so many buckets, by their names; the proxies compute them. */
const buckets = 10_000;

/** What is remembered of a wave while it is under way. A new leader begins with what is stored of its agents, and observes anew. */
export interface WaveWatch {
  readonly digest: string;
  readonly wave: number;
  /** Tells waves apart that have one number, as the percentages were edited meanwhile. */
  readonly reach: number;
  /** The most agents of it that were there at once. */
  readonly peak: number;
  /** Since when there has been nothing to complain of, in ms; undefined while there is. */
  readonly settledMs: number | undefined;
}

/** A wave that is under way. */
export interface WaveInputs {
  readonly digest: string;
  /** 0: none has begun. */
  readonly wave: number;
  readonly reach: number;
  /** Agents that could have tried an earlier version, or this one before, and are missed if they are gone. */
  readonly known: number;
  /** The most agents of the wave that were there at once, as far as it was stored. */
  readonly tried: number;
  readonly evidence: PushEvidence;
  readonly watch: WaveWatch | undefined;
  readonly observeMs: number;
  readonly nowMs: number;
}

/** How a wave is: over, or why it is not. `nobody`: nobody can try the version, so waves are of no use. */
export interface WaveLook {
  readonly is: "over" | "nobody" | "unknown" | "away" | "behind" | "observed";
  readonly watch: WaveWatch;
  /** When time alone changes that, in ms from now; undefined if it does not. */
  readonly leftMs?: number;
}

/** The buckets that a wave of so many percent reaches: always at least that of one agent, and those of the waves before. */
export function reachOf(percent: number, lowest: number, before: number): number {
  return Math.max(Math.floor((percent * buckets) / 100), lowest + 1, before);
}

/** The observation of this wave so far; undefined if the one that is remembered is of another. */
export function watchOf(
  { digest, wave, reach }: Pick<WaveWatch, "digest" | "wave" | "reach">,
  watch: WaveWatch | undefined,
): WaveWatch | undefined {
  return watch?.digest === digest && watch.wave === wave && watch.reach === reach ? watch : undefined;
}

/** Looks at what is under way: the wave is over after it has been as it should be for the time of observation. */
export function lookAtWave(inputs: WaveInputs): WaveLook {
  const { digest, wave, reach, evidence, observeMs, nowMs } = inputs;
  const before = watchOf(inputs, inputs.watch);
  const peak = Math.max(before?.peak ?? 0, inputs.tried, evidence.wave);
  const is = wave === 0 ? beforeWaves(inputs) : duringWave(inputs, peak);
  const isSettled = is === "observed";
  const settledMs = isSettled ? (before?.settledMs ?? nowMs) : undefined;
  const watch = { digest, wave, reach, peak, settledMs };
  if (settledMs === undefined) return { is, watch };
  const leftMs = settledMs + observeMs - nowMs;
  if (leftMs > 0) return { is, watch, leftMs };
  return { is: evidence.agents === 0 ? "nobody" : "over", watch };
}

function beforeWaves({ evidence, known }: WaveInputs): WaveLook["is"] {
  if (evidence.reaches.includes(undefined)) return "unknown";
  if (evidence.agents > 0) return "over";
  // Nobody asks for it that could try it, maybe for a moment only: a proxy that starts may have other subscribers first.
  return known > 0 ? "away" : "observed";
}

function duringWave({ evidence, reach, known }: WaveInputs, peak: number): WaveLook["is"] {
  const { reaches, agents, wave, current, refusals } = evidence;
  if (reaches.some((one) => one !== reach)) return "unknown";
  if (agents === 0 && known === 0) return "observed";
  // Agents that have gone with it may have gone because of it.
  if (wave === 0 || wave < peak / 2) return "away";
  // Who refuses all of it does not have it.
  return wave - current > refusals ? "behind" : "observed";
}
