import { Counter, Gauge, type Registry } from "@bunting/runtime";
import type { SourceMetrics } from "../source/source-metrics.js";

/** The metrics of the copies in --cache-dir; all zero without. */
export function copyMetrics(registry: Registry): Pick<SourceMetrics, "unconfirmedTopics" | "copyFailed"> {
  const registers = [registry];
  const unconfirmed = new Gauge({
    name: "bunting_proxy_source_unconfirmed_topics",
    help: "Topics served from their copy in --cache-dir, because the source has not answered since the proxy started.",
    registers,
  });
  const errors = new Counter({
    name: "bunting_proxy_source_copy_errors_total",
    help: "Copies in --cache-dir that could not be used (unusable) or written (write), or were removed because of --cache-size (full).",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of ["unusable", "write", "full"]) errors.inc({ kind }, 0);
  return {
    unconfirmedTopics: (delta) => unconfirmed.inc(delta),
    copyFailed: (kind) => errors.inc({ kind }),
  };
}
