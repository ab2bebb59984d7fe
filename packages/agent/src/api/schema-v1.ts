import type { Dialect } from "./dialect.js";
import { zeroValue } from "./typed-value.js";

/**
 * Spoken by the PHP provider. It answers the zero value where the default in the code is meant, as in flagd; but flagd lets its
 * internal reason FALLBACK out here, which no client knows: we say DEFAULT.
 */
export const schemaV1: Dialect = {
  service: "schema.v1.Service",
  mapsHeadersToContext: false,
  hasPresence: false,
  resolveAll: "without-metadata",
  withoutValue: (reason, accessor, metadata) => ({
    value: zeroValue(accessor),
    reason: reason === "DISABLED" ? "DISABLED" : "DEFAULT",
    variant: "",
    metadata,
  }),
};
