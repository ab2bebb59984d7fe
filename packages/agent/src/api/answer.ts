import type { EncodedObject } from "./encoded-object.js";
import type { ApiErrorCode } from "./evaluation-error.js";
import type { Accessor, TypedValue } from "./typed-value.js";

/** The reasons that clients see. */
export type AnswerReason = "STATIC" | "DEFAULT" | "TARGETING_MATCH" | "DISABLED" | "ERROR";

/** The answer to one evaluation, in the terms that a protocol has for it. */
export interface Answer {
  /** Undefined where the protocol can say "use the default in the code", and means it. */
  readonly value: TypedValue | undefined;
  readonly reason: AnswerReason;
  readonly variant: string | undefined;
  readonly metadata: EncodedObject;
}

/** One flag of a ResolveAll answer. */
export interface AnyFlagAnswer {
  readonly key: string;
  /** Which member of AnyFlag's oneof the value is. Never Int: nobody asked for one. */
  readonly accessor: Accessor;
  readonly value: TypedValue;
  readonly reason: AnswerReason;
  readonly variant: string;
  readonly metadata: EncodedObject;
  /** Why the reason is ERROR: counted, not sent. */
  readonly error?: ApiErrorCode | undefined;
}

export interface AllAnswer {
  readonly flags: readonly AnyFlagAnswer[];
  readonly metadata: EncodedObject;
}
