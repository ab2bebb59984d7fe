import { counter, defineMetrics, label, transientGauge } from "@bunting/runtime";

export const extensionMetrics = defineMetrics({
  extensionCalled: counter(
    "bunting_operator_extension_calls_total",
    "Calls of extensions, by what they answered: unchanged, replaced (an object), commented (on a FeatureFlag), refused, failed.",
    label("answer", "unchanged", "replaced", "commented", "refused", "failed"),
  ),
  extensionFailing: transientGauge(
    "bunting_operator_extension_failing",
    "1 for an Extension whose service does not answer, or answers what it may not: its lastError says why.",
    label<string>("extension"),
  ),
});
