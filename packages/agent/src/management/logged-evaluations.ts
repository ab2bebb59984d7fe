import type { Logger } from "@bunting/runtime";
import type { ApiMetrics } from "../api/api-metrics.js";

type EvaluationMetrics = Pick<
  ApiMetrics,
  "evaluated" | "evaluationFailed" | "ofrepEvaluated" | "ofrepEvaluationFailed"
>;

const maxKeyCharacters = 200;

/** The given metrics, with a line in the log for each evaluation. For --debug: without it, evaluations go to the metrics themselves and cost nothing here. */
export function loggedEvaluations<Metrics extends EvaluationMetrics>(
  metrics: Metrics,
  logger: Pick<Logger, "debug">,
): Metrics {
  const answered = (flag: string, reason: string, variant: string): void =>
    logger.debug({ flag: flag.slice(0, maxKeyCharacters), reason, variant }, "evaluated a flag");
  const failed = (flag: string, error: string): void =>
    logger.debug({ flag: flag.slice(0, maxKeyCharacters), reason: "ERROR", error }, "evaluated a flag");
  return {
    ...metrics,
    evaluated: both(metrics.evaluated, answered),
    evaluationFailed: both(metrics.evaluationFailed, failed),
    ofrepEvaluated: both(metrics.ofrepEvaluated, answered),
    ofrepEvaluationFailed: both(metrics.ofrepEvaluationFailed, failed),
  };
}

function both<Args extends unknown[]>(first: (...args: Args) => void, second: (...args: Args) => void) {
  return (...args: Args): void => {
    first(...args);
    second(...args);
  };
}
