import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import { excessOf } from "./review-size.js";

/** What the API server asks, as `admission.k8s.io/v1` has it, with the fields that are used. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly operation: string;
  /** Empty for objects that are in no namespace. */
  readonly namespace: string;
  /** Set for requests of a subresource, such as `status`. */
  readonly subResource: string;
  /** True if nothing is stored, whatever the answer. */
  readonly dryRun: boolean;
  /** Undefined for deletions. */
  readonly object: JsonObject | undefined;
  /** The object as it is stored, for updates and deletions. */
  readonly oldObject: JsonObject | undefined;
}

/** Why a review can't be answered: a sentence for whoever sent it. */
export interface MalformedReview {
  readonly problem: string;
}

const reviewVersion = "admission.k8s.io/v1";

/** Reads a review. Nothing of its objects is looked at, whatever is in them. */
export function readReview(body: Buffer): AdmissionRequest | MalformedReview {
  const excess = excessOf(body);
  if (excess !== undefined) return { problem: `the body ${excess}` };
  let review: unknown;
  try {
    review = JSON.parse(body.toString("utf8"));
  } catch (error) {
    return { problem: `the body is not JSON: ${quoted((error as Error).message, 120)}` };
  }
  if (!isObject(review)) return { problem: "the body is not an object: expected an AdmissionReview" };
  const { apiVersion, kind, request } = review;
  if (apiVersion !== reviewVersion || kind !== "AdmissionReview") {
    const found = `${textOf(kind)} of ${textOf(apiVersion)}`;
    return { problem: `expected an AdmissionReview of ${reviewVersion}, and got ${quoted(found)}` };
  }
  return isObject(request) ? readRequest(request) : { problem: `the review has no "request"` };
}

function readRequest(request: JsonObject): AdmissionRequest | MalformedReview {
  const { uid, operation, kind = null, object, oldObject } = request;
  if (typeof uid !== "string" || uid === "") return { problem: `the request has no "uid"` };
  if (typeof operation !== "string") return { problem: `the request has no "operation"` };
  if (!isObject(kind)) return { problem: `the request has no "kind"` };
  for (const [name, value] of Object.entries({ object, oldObject })) {
    if (value !== undefined && value !== null && !isObject(value))
      return { problem: `the request's ${quoted(name)} is not an object` };
  }
  return {
    uid,
    operation,
    kind: { group: textOf(kind["group"]), version: textOf(kind["version"]), kind: textOf(kind["kind"]) },
    namespace: textOf(request["namespace"]),
    subResource: textOf(request["subResource"]),
    dryRun: request["dryRun"] === true,
    object: isObject(object) ? object : undefined,
    oldObject: isObject(oldObject) ? oldObject : undefined,
  };
}

/** Of text that is not there, or something else, the empty one. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: unknown): value is JsonObject {
  return isJsonObject((value ?? null) as JsonValue);
}
