import type { EncodedObject } from "./encoded-object.js";
import type { ApiErrorCode } from "./evaluation-error.js";
import type { Accessor, TypedValue } from "./typed-value.js";

/** The reasons that clients see. */
export type AnswerReason = "STATIC" | "DEFAULT" | "TARGETING_MATCH" | "STALE" | "DISABLED" | "ERROR";

/** The answer to one evaluation, in the terms of a protocol. */
export interface Answer {
  /** Undefined means "use the default in the code", in protocols that can express it. */
  readonly value: TypedValue | undefined;
  readonly reason: AnswerReason;
  readonly variant: string | undefined;
  readonly metadata: EncodedObject;
}

export interface AnyFlagAnswer {
  readonly key: string;
  /** Which member of AnyFlag's oneof the value is. Never Int, which only a request can ask for. */
  readonly accessor: Accessor;
  readonly value: TypedValue;
  readonly reason: AnswerReason;
  readonly variant: string;
  readonly metadata: EncodedObject;
  /** The cause of reason ERROR: counted, not sent. */
  readonly error?: ApiErrorCode | undefined;
}

export interface AllAnswer {
  readonly flags: readonly AnyFlagAnswer[];
  readonly metadata: EncodedObject;
}
