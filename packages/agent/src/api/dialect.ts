import type { Answer } from "./answer.js";
import type { EncodedObject } from "./encoded-object.js";
import type { ApiErrorCode } from "./evaluation-error.js";
import type { Accessor } from "./typed-value.js";

/** What v2, v1 and schema.v1 do not have in common. The rest of them is one: evaluation-service.ts. */
export interface Dialect {
  /** As in the path `/service/method`. */
  readonly service: string;
  /** Whether `--context-from-header` is in effect. */
  readonly mapsHeadersToContext: boolean;
  /** Whether value and variant of a Resolve response may be unset, which is not the same as empty. */
  readonly hasPresence: boolean;
  /** Whether there is ResolveAll, and whether its messages have metadata. */
  readonly resolveAll: "none" | "with-metadata" | "without-metadata";
  /**
   * What is said for a flag that has no value: it is disabled, or leaves it to the default in the code (FALLBACK). A protocol that has
   * no answer for that gives the code of the error it says instead.
   */
  withoutValue(
    reason: "DISABLED" | "FALLBACK",
    accessor: Accessor,
    metadata: EncodedObject,
  ): Answer | ApiErrorCode;
}
