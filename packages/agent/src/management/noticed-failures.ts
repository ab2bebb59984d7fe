import type { ApiMetrics } from "../api/api-metrics.js";
import type { FailingFlags } from "../store/failing-flags.js";

/** What says nothing of a flag: its source has not answered yet. */
const ofNoFlag = "PROVIDER_NOT_READY";

/** The given metrics, by which `failing` also hears of each evaluation that fails. Those that are answered go to the metrics themselves and cost nothing here. */
export function noticedFailures<
  Metrics extends Pick<ApiMetrics, "evaluationFailed" | "ofrepEvaluationFailed">,
>(metrics: Metrics, failing: Pick<FailingFlags, "failed">): Metrics {
  return {
    ...metrics,
    evaluationFailed: (flagKey, code) => {
      metrics.evaluationFailed(flagKey, code);
      if (code !== ofNoFlag) failing.failed(flagKey, code);
    },
    ofrepEvaluationFailed: (flagKey, code) => {
      metrics.ofrepEvaluationFailed(flagKey, code);
      if (code !== ofNoFlag) failing.failed(flagKey, code);
    },
  };
}
