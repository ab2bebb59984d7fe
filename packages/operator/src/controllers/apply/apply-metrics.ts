import { counter, defineMetrics, label, type MetricsOf } from "@bunting/runtime";

export const applyMetrics = defineMetrics({
  drifted: counter(
    "bunting_operator_drift_total",
    "Fields of our objects that others had changed: those of managers that update are put back, those of managers that apply stay.",
    label<string>("object"),
    label<string>("manager"),
  ),
});

/** What applying counts; a test replaces what it looks at. */
export type ApplyMetrics = MetricsOf<typeof applyMetrics>;
