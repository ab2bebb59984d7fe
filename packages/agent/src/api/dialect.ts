import type { Answer } from "./answer.js";
import type { EncodedObject } from "./encoded-object.js";
import type { ApiErrorCode } from "./evaluation-error.js";
import type { Accessor } from "./typed-value.js";

/** Where v2, v1 and schema.v1 differ. What they have in common is evaluation-service.ts. */
export interface Dialect {
  /** The `service` in the path `/service/method`. */
  readonly service: string;
  /** Whether `--context-from-header` applies. */
  readonly mapsHeadersToContext: boolean;
  /** Whether value and variant of a Resolve response can be unset, as distinct from empty. */
  readonly hasPresence: boolean;
  /** Whether EventStreams end by `--stream-deadline`, and with an error at the deadline of their client. */
  readonly hasStreamDeadlines: boolean;
  /** Whether there is ResolveAll, and whether its messages have metadata. */
  readonly resolveAll: "none" | "with-metadata" | "without-metadata";
  /**
   * The answer for a flag without a value: it is disabled, or leaves the value to the default in the code (FALLBACK). A protocol that
   * can't express that answers an error instead, whose code this returns.
   */
  withoutValue(
    reason: "DISABLED" | "FALLBACK",
    accessor: Accessor,
    metadata: EncodedObject,
  ): Answer | ApiErrorCode;
}
