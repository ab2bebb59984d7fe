import type { Dialect } from "./dialect.js";
import { zeroValue } from "./typed-value.js";

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
