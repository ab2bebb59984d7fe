import {
  booleanGauge,
  counter,
  defineMetrics,
  label,
  RateLimitedLog,
  transientGauge,
  type Context,
} from "@bunting/runtime";
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
  unreadNamespace: transientGauge(
    "bunting_operator_unread_namespaces",
    "1 for each namespace of --watch-namespaces in which the operator may not read, so that nothing is served there: it does not exist, or lacks the operator's Role.",
    label<string>("namespace"),
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

/** Failures that only people can end. */
const advice: Partial<Record<KubeError["code"], string>> = {
  NOT_FOUND: "this cluster has no such resource type (CrdMissing): install the CRDs of this version",
  FORBIDDEN: "objects of the type can't be watched: grant what the reference of permissions says",
};

/** The part of the metrics that watches record. What people have to mend is logged as well, once a minute for each type: what is made of its objects waits. */
export function reflectorMetrics({
  metrics,
  logger,
  clock,
}: Context<ProcessOfOperatorMetrics>): ReflectorMetrics {
  const log = new RateLimitedLog(logger, clock);
  return {
    relist: (reason) => metrics.relisted(reason),
    event: (type) => metrics.watchEvent(type),
    error: (error, { plural, group }) => {
      metrics.watchFailed(error.code);
      const message = advice[error.code];
      const type = group === "" ? plural : `${plural}.${group}`;
      if (message !== undefined) log.warn(plural, { type, error }, message);
    },
  };
}
