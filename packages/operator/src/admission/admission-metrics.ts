import { counter, defineMetrics, histogram, label, type MetricsOf } from "@bunting/runtime";
import { notInjectedReasons } from "../pod/reasons.js";

/** What a review is about, in metrics. */
export type AdmissionWebhook = "pod" | "featureflag" | "featureflagsource" | "workload" | "unknown";

/** How a review ended: `failed` is a fault of the operator's own, and `malformed` was none that an API server sends. */
export type AdmissionResult = "allowed" | "patched" | "warned" | "refused" | "failed" | "malformed";

export const admissionMetrics = defineMetrics({
  admission: counter(
    "bunting_operator_admission_total",
    "Reviews that were answered, by webhook and result: allowed (as it was), patched, warned, refused, failed (by a fault of the operator; the API server goes by the failure policy), malformed.",
    label<AdmissionWebhook>("webhook"),
    label("result", "allowed", "patched", "warned", "refused", "failed", "malformed"),
  ),
  admissionTook: histogram(
    "bunting_operator_admission_seconds",
    "Seconds from a review's headers to its answer.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3],
    label<AdmissionWebhook>("webhook"),
  ),
  injected: counter(
    "bunting_operator_injected_total",
    "Pods that were given a sidecar, or variables, by the webhook. Dry runs count, and so does each time that a Pod is shown again.",
  ),
  notInjected: counter(
    "bunting_operator_not_injected_total",
    "Pods that asked for flags and were not given any, by reason; the Pod's annotation bunting.dev/not-injected and its warning have the same word.",
    // An alert compares with the time before: a series that began with the first Pod would hide it.
    label<string>("reason", ...Object.keys(notInjectedReasons)),
  ),
  admissionsRefused: counter(
    "bunting_operator_admission_requests_refused_total",
    "Requests to the port of admission that were refused because of a limit.",
  ),
});
export type AdmissionMetrics = MetricsOf<typeof admissionMetrics>;
