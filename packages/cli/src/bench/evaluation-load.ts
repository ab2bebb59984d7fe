import type { Asker } from "./ask.js";
import { Latencies, summaryOf, type LatencySummary } from "./latencies.js";

export interface LoadPlan {
  /** Each asks again as soon as it is answered. */
  readonly callers: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Called now and then with how many answers there were, and after how long. */
  readonly progress: (answers: number, elapsedMs: number) => void;
}

export interface LoadResult {
  readonly seconds: number;
  readonly answers: number;
  readonly answersPerSecond: number;
  readonly latencyMs: LatencySummary;
  readonly errors: number;
  /** How often each reason occurred. */
  readonly errorReasons: Readonly<Record<string, number>>;
}

const progressEveryMs = 200;
/** So that a server that refuses at once is not asked a million times. */
const pauseAfterErrorMs = 10;
const maxReasons = 10;

/** Asks for as long as planned, or until the signal aborts. What happens while it warms up is not counted, except that nothing was answered. */
export async function runEvaluationLoad(
  { ask }: Asker,
  plan: LoadPlan,
  signal: AbortSignal,
): Promise<LoadResult> {
  const { callers, warmUpMs, durationMs, progress } = plan;
  const startMs = performance.now();
  const countFromMs = startMs + warmUpMs;
  const endMs = countFromMs + durationMs;
  const latencies = new Latencies();
  const reasons = new Map<string, number>();
  const call = async (): Promise<void> => {
    for (;;) {
      const fromMs = performance.now();
      if (fromMs >= endMs || signal.aborted) return;
      const reason = await ask();
      const nowMs = performance.now();
      if (reason === undefined) {
        if (fromMs >= countFromMs) latencies.add(nowMs - fromMs);
      } else {
        const kept = reasons.has(reason) || reasons.size < maxReasons ? reason : "other reasons";
        reasons.set(kept, (reasons.get(kept) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, pauseAfterErrorMs));
      }
    }
  };
  const timer = setInterval(() => progress(latencies.count, performance.now() - startMs), progressEveryMs);
  try {
    await Promise.all(Array.from({ length: callers }, call));
  } finally {
    clearInterval(timer);
  }
  const seconds = Math.max(0.001, (Math.min(performance.now(), endMs) - countFromMs) / 1_000);
  return {
    seconds: Number(seconds.toFixed(1)),
    answers: latencies.count,
    answersPerSecond: Math.round(latencies.count / seconds),
    latencyMs: summaryOf(latencies),
    errors: [...reasons.values()].reduce((sum, count) => sum + count, 0),
    errorReasons: Object.fromEntries(reasons),
  };
}
