import type { JsonObject, JsonValue } from "@bunting/protocol";
import type { Metadata } from "./flag.js";

/** Why a flag has the value it has. FALLBACK is internal: "use the default in the code"; each protocol has its own word for it. */
export type Reason = "STATIC" | "DEFAULT" | "TARGETING_MATCH" | "DISABLED" | "FALLBACK" | "ERROR";

export type EvaluationErrorCode = "FLAG_NOT_FOUND" | "PARSE_ERROR" | "GENERAL";

/** What one evaluates a flag against; plain JSON. */
export type EvaluationContext = JsonObject;

/** The outcome of one evaluation, before any typing by the accessor that asked (Boolean, String …). */
export interface Resolution {
  readonly reason: Reason;
  /** Undefined for DISABLED, FALLBACK and ERROR. */
  readonly variant: string | undefined;
  readonly value: JsonValue | undefined;
  /** The flag's metadata (set under flag); empty if there is no such flag. */
  readonly metadata: Metadata;
  /** Set with reason ERROR only. */
  readonly errorCode: EvaluationErrorCode | undefined;
}
