import { counter, defineMetrics, gauge, histogram, label, type MetricsOf } from "@bunting/runtime";

/** Sources are identified by their place in the list. */
const source = label<number>("source");

export const storeMetrics = defineMetrics({
  documentApplied: histogram(
    "bunting_agent_store_update_seconds",
    "Seconds that applying a document blocked the event loop.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  ),
  documentBytes: gauge(
    "bunting_agent_store_document_bytes",
    "Size of the newest document of the source that was applied.",
    source,
  ),
  documentRefused: counter(
    "bunting_agent_store_refused_documents_total",
    "Documents refused as a whole; the previous document is still served.",
    source,
    label<"DOCUMENT_INVALID" | "DOCUMENT_TOO_LARGE">("code"),
  ),
  flagsServed: gauge("bunting_agent_store_flags", "Flags that are served."),
  flagsRejected: gauge(
    "bunting_agent_store_rejected_flags",
    "Flags of the source's newest document that are rejected; each keeps its previous value, if it had one.",
    source,
  ),
  lastKnownGoodFailed: counter(
    "bunting_agent_store_last_known_good_failures_total",
    "Times a last-known-good copy could not be written.",
    source,
  ),
});

/** What the store counts; a test replaces what it looks at. */
export type StoreMetrics = MetricsOf<typeof storeMetrics>;
