import type { InvalidReason, WarningKind } from "@bunting/featureflags/manifests";
import { counter, defineMetrics, detailed, label, upDownCounter, type MetricsOf } from "@bunting/runtime";
import type { watchMetrics } from "./kubernetes/watch-metrics.js";
import type { upstreamMetrics } from "./upstream/upstream-metrics.js";

/** What every source counts: each once per version of a file or object, however often it is read. */
export const sourceMetrics = defineMetrics({
  sourceError: counter(
    "bunting_proxy_source_errors_total",
    "Times the source could not be read or watched, by kind; the last documents are still served.",
    label<string>("kind"),
  ),
  documentInvalid: detailed<InvalidReason>(
    counter(
      "bunting_proxy_source_invalid_documents_total",
      "Documents that can't be served; the version before, if any, is still served.",
    ),
  ),
  documentWarning: detailed<WarningKind>(
    counter(
      "bunting_proxy_source_document_remarks_total",
      "Warnings about documents: parts left out (metadata other than strings, numbers and booleans), or worth a look.",
    ),
  ),
  unconfirmedTopics: upDownCounter(
    "bunting_proxy_source_unconfirmed_topics",
    "Topics served from their copy in --cache-dir, because the source has not answered since the proxy started.",
  ),
  copyFailed: counter(
    "bunting_proxy_source_copy_errors_total",
    "Copies in --cache-dir that could not be used (unusable) or written (write), or were removed because of --cache-size (full).",
    label("kind", "unusable", "write", "full"),
  ),
});

export type SourceMetrics = MetricsOf<typeof sourceMetrics> &
  MetricsOf<typeof watchMetrics> &
  MetricsOf<typeof upstreamMetrics>;
