import type { JsonObject, JsonValue } from "@bunting/protocol";
import type { Metadata } from "./flag.js";

/** Why a flag has the value it has. FALLBACK is internal: "use the default in the code"; each protocol has its own word for it. STALE: the flag may have changed since. */
export type Reason = "STATIC" | "DEFAULT" | "TARGETING_MATCH" | "STALE" | "DISABLED" | "FALLBACK" | "ERROR";

export type EvaluationErrorCode = "FLAG_NOT_FOUND" | "PARSE_ERROR" | "GENERAL";

/** What a flag is evaluated against; plain JSON. */
export type EvaluationContext = JsonObject;

/** The result of one evaluation, before the API checks its type (Boolean, String …). */
export interface Resolution {
  readonly reason: Reason;
  /** Undefined for DISABLED, FALLBACK and ERROR. */
  readonly variant: string | undefined;
  readonly value: JsonValue | undefined;
  /** The flag's metadata (set under flag); empty if there is no such flag. */
  readonly metadata: Metadata;
  /** Set only with reason ERROR. */
  readonly errorCode: EvaluationErrorCode | undefined;
}
