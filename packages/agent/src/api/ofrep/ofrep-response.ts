import { canonicalJson, isJsonObject, type JsonValue } from "@bunting/protocol";
import type { EvaluationErrorCode, Flag, Resolution } from "@bunting/evaluation";
import type { AnswerReason } from "../answer.js";
import { accessorOf } from "../typed-value.js";
import { encodedOnce, type EncodedObject } from "../encoded-object.js";

// How OFREP answers an evaluation: a success or an error, each with the same body alone and in a list.

/** The reason that a client sees; FALLBACK is internal. */
export function ofrepReasonOf({ reason }: Resolution): AnswerReason {
  return reason === "FALLBACK" ? "DEFAULT" : reason;
}

/**
 * What can't be said in an answer: OFREP has no value for a variant that is null, and in a list flagd expects each value to have the type of
 * the flag's default variant.
 */
export function errorOf(
  { reason, errorCode, value, variant }: Resolution,
  listed?: Flag,
): EvaluationErrorCode | undefined {
  if (reason === "ERROR") return errorCode ?? "GENERAL";
  if (variant === undefined) return undefined;
  if (value === undefined || value === null) return "GENERAL";
  if (listed?.defaultVariant === undefined) return undefined;
  const expected = accessorOf(listed.variants.get(listed.defaultVariant));
  return expected === undefined || expected === accessorOf(value) ? undefined : "GENERAL";
}

/** A flag that is disabled, or leaves its value to the default in the code, has neither value nor variant. */
export function successJson(key: string, resolution: Resolution, metadata: EncodedObject): string {
  const { value, variant } = resolution;
  const valueMember = value === undefined || value === null ? "" : `"value":${valueJson(value)},`;
  const variantMember =
    variant === undefined || variant === "" ? "" : `"variant":${JSON.stringify(variant)},`;
  return `{${valueMember}"key":${JSON.stringify(key)},"reason":"${ofrepReasonOf(resolution)}",${variantMember}"metadata":${metadata.json}}`;
}

export function errorJson(key: string, code: EvaluationErrorCode, metadata: EncodedObject): string {
  return failureJson(key, code, errorDetails(key, code), metadata);
}

export const errorStatus: Readonly<Record<EvaluationErrorCode, number>> = {
  FLAG_NOT_FOUND: 404,
  PARSE_ERROR: 400,
  GENERAL: 400,
};

export type OfrepErrorCode = EvaluationErrorCode | "INVALID_CONTEXT";

/** The error of a request for one flag, or for all flags if `key` is undefined; without metadata if nothing was evaluated. */
export function failureJson(
  key: string | undefined,
  code: OfrepErrorCode,
  details: string,
  metadata?: EncodedObject,
): string {
  const named = key === undefined ? "" : `"key":${JSON.stringify(key)},`;
  return `{${named}"errorCode":"${code}","errorDetails":${JSON.stringify(details)},"metadata":${metadata?.json ?? "null"}}`;
}

function errorDetails(key: string, code: EvaluationErrorCode): string {
  switch (code) {
    case "FLAG_NOT_FOUND":
      return `flag \`${key}\` does not exist`;
    case "PARSE_ERROR":
      return `error parsing the flag \`${key}\``;
    case "GENERAL":
      return "error processing the flag for evaluation";
  }
}

function valueJson(value: JsonValue): string {
  if (typeof value !== "object") return JSON.stringify(value);
  return isJsonObject(value) ? encodedOnce(value).json : canonicalJson(value);
}
