import type { Dialect } from "./dialect.js";
import { zeroValue } from "./typed-value.js";

/** Used by the Rust provider and flagd-web. It expresses "use the default in the code" only as an error. */
export const evaluationV1: Dialect = {
  service: "flagd.evaluation.v1.Service",
  mapsHeadersToContext: true,
  hasPresence: false,
  hasStreamDeadlines: true,
  resolveAll: "with-metadata",
  withoutValue: (reason, accessor, metadata) =>
    reason === "FALLBACK" ? "FLAG_NOT_FOUND" : { value: zeroValue(accessor), reason, variant: "", metadata },
};
