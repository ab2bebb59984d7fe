import { counter, defineMetrics, gauge, histogram, label, type MetricsOf } from "@bunting/runtime";

/** A controller's name: `proxy`, `namespace`, `flagd`. */
const controller = label<string>("controller");

/** Buckets of the time that work takes, in s: most of it is a few calls to the API server. */
const secondsOfWork = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export const controllerMetrics = defineMetrics({
  reconciled: counter(
    "bunting_operator_reconcile_total",
    "Runs of the controller for one key; those that failed are repeated after a backoff.",
    controller,
    label<"succeeded" | "failed">("result"),
  ),
  reconcileTook: histogram(
    "bunting_operator_reconcile_seconds",
    "Seconds that a run of the controller took.",
    secondsOfWork,
    controller,
  ),
  reconcileWaited: histogram(
    "bunting_operator_reconcile_wait_seconds",
    "Seconds that a key waited in the queue until the controller ran for it.",
    secondsOfWork,
    controller,
  ),
  queueDepth: gauge("bunting_operator_queue_depth", "Keys that wait for the controller.", controller),
});

/** What controllers count; a test replaces what it looks at. */
export type ControllerMetrics = MetricsOf<typeof controllerMetrics>;
