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

/** Used by the JS, Go, Java, Python and .NET providers. An unset value means "use the default in the code". */
export const evaluationV2: Dialect = {
  service: "flagd.evaluation.v2.Service",
  mapsHeadersToContext: true,
  hasPresence: true,
  hasStreamDeadlines: true,
  resolveAll: "none",
  withoutValue: (reason, _accessor, metadata) => ({
    value: undefined,
    reason: reason === "DISABLED" ? "DISABLED" : "DEFAULT",
    variant: undefined,
    metadata,
  }),
};

/**
 * Used by the PHP provider. For "use the default in the code" it answers the zero value, as flagd does; but flagd leaks its internal
 * reason FALLBACK here, which no client knows: we answer DEFAULT.
 */
export const schemaV1: Dialect = {
  service: "schema.v1.Service",
  mapsHeadersToContext: false,
  hasPresence: false,
  hasStreamDeadlines: false,
  resolveAll: "without-metadata",
  withoutValue: (reason, accessor, metadata) => ({
    value: zeroValue(accessor),
    reason: reason === "DISABLED" ? "DISABLED" : "DEFAULT",
    variant: "",
    metadata,
  }),
};
