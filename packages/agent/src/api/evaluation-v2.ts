import type { Dialect } from "./dialect.js";

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
