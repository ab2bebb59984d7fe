import { booleanGauge, counter, defineMetrics, label } from "@bunting/runtime";
import type { KubeError, ReflectorMetrics } from "@bunting/kube";

/** What the wiring itself measures. */
export const processOfOperatorMetrics = defineMetrics({
  leads: booleanGauge(
    "bunting_operator_leader",
    "1 on the replica that leads: it alone writes to the cluster.",
  ),
  isHeldBack: booleanGauge(
    "bunting_operator_held_back",
    "1 on a leader that writes nothing, because another operator runs.",
  ),
  relisted: counter(
    "bunting_operator_relists_total",
    "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s), asked.",
    label<string>("reason"),
  ),
  watchEvent: counter(
    "bunting_operator_watch_events_total",
    "Events of watches, by type, including those of initial reads.",
    label<string>("type"),
  ),
  watchFailed: counter(
    "bunting_operator_watch_errors_total",
    "Failures of watches, by code; each is repeated after a backoff.",
    label<KubeError["code"]>("code"),
  ),
  eventDropped: counter(
    "bunting_operator_events_dropped_total",
    "Events of objects that were not written, because there were too many.",
  ),
});

export type ProcessOfOperatorMetrics = ReturnType<typeof processOfOperatorMetrics.create>;

/** The part of the metrics that watches record. */
export function reflectorMetrics(metrics: ProcessOfOperatorMetrics): ReflectorMetrics {
  return {
    relist: (reason) => metrics.relisted(reason),
    event: (type) => metrics.watchEvent(type),
    error: ({ code }) => metrics.watchFailed(code),
  };
}
