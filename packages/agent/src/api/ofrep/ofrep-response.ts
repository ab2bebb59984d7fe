import { canonicalJson, isJsonObject, type JsonValue } from "@bunting/protocol";
import type { EvaluationErrorCode, Resolution } from "@bunting/evaluation";
import type { EncodedObject } from "../encoded-object.js";
import { encodedOnce } from "../encoded-object.js";

/** How OFREP answers an evaluation: a success or an error, each with the same body alone and in a list. */

/** Value and variant are left out where the default in the code is meant, and of a disabled flag. */
export function successJson(key: string, resolution: Resolution, metadata: EncodedObject): string {
  const { value, variant } = resolution;
  const reason = resolution.reason === "FALLBACK" ? "DEFAULT" : resolution.reason;
  const valueMember = value === undefined || value === null ? "" : `"value":${valueJson(value)},`;
  const variantMember =
    variant === undefined || variant === "" ? "" : `"variant":${JSON.stringify(variant)},`;
  return `{${valueMember}"key":${JSON.stringify(key)},"reason":"${reason}",${variantMember}"metadata":${metadata.json}}`;
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

/** The error of a request about one flag, or with key undefined about all. */
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
