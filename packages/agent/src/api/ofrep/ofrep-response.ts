import { canonicalJson, isJsonObject, type JsonValue } from "@bunting/protocol";
import type { EvaluationErrorCode, Resolution } from "@bunting/evaluation";
import type { AnswerReason } from "../answer.js";
import { encodedOnce, type EncodedObject } from "../encoded-object.js";

// How OFREP answers an evaluation: a success or an error, each with the same body alone and in a list.

/** The reason that a client sees; FALLBACK is internal. */
export function reasonOf({ reason }: Resolution): AnswerReason {
  return reason === "FALLBACK" ? "DEFAULT" : reason;
}

/** A flag that is disabled, or leaves its value to the default in the code, has neither value nor variant. */
export function successJson(key: string, resolution: Resolution, metadata: EncodedObject): string {
  const { value, variant } = resolution;
  const valueMember = value === undefined || value === null ? "" : `"value":${valueJson(value)},`;
  const variantMember =
    variant === undefined || variant === "" ? "" : `"variant":${JSON.stringify(variant)},`;
  return `{${valueMember}"key":${JSON.stringify(key)},"reason":"${reasonOf(resolution)}",${variantMember}"metadata":${metadata.json}}`;
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

/** The error of a request for one flag, or for all flags if `key` is undefined. */
export function failureJson(
  key: string | undefined,
  code: OfrepErrorCode,
  details: string,
  metadata?: EncodedObject,
): string {
  const error = `"errorCode":"${code}","errorDetails":${JSON.stringify(details)}`;
  if (key === undefined) return `{${error}}`;
  const json = metadata?.json ?? "{}";
  return `{"key":${JSON.stringify(key)},${error},"metadata":${json === "{}" ? "null" : json}}`;
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
