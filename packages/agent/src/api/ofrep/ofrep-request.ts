import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { EvaluationContext } from "@bunting/evaluation";
import { emptyContext } from "../context.js";
import { isNestedDeeper, maxNesting } from "../nesting.js";

/** What an OFREP path asks for; undefined if it is no path of OFREP. */
export type OfrepTarget = { readonly kind: "bulk" } | { readonly kind: "flag"; readonly key: string };

const bulkPath = "/ofrep/v1/evaluate/flags";
const bulk: OfrepTarget = { kind: "bulk" };

/** A slash at the end is passed over. */
export function parseOfrepPath(path: string): OfrepTarget | undefined {
  if (path === bulkPath || path === `${bulkPath}/`) return bulk;
  if (!path.startsWith(`${bulkPath}/`)) return undefined;
  const encoded = path.slice(bulkPath.length + 1, path.endsWith("/") ? -1 : undefined);
  if (encoded === "" || encoded.includes("/")) return undefined;
  try {
    return { kind: "flag", key: encoded.includes("%") ? decodeURIComponent(encoded) : encoded };
  } catch {
    return undefined;
  }
}

/** "not-an-object": flagd evaluates without it. */
export type OfrepContext = EvaluationContext | "invalid" | "not-an-object";

/** Reads the context of an OFREP request; there need be neither a body nor a context in it. */
export function parseOfrepContext(body: Buffer): OfrepContext {
  if (body.length === 0) return emptyContext;
  if (!isUtf8(body)) return "invalid";
  let message: JsonValue;
  try {
    message = JSON.parse(body.toString()) as JsonValue;
  } catch {
    return "invalid";
  }
  if (message === null) return emptyContext;
  if (!isJsonObject(message)) return "invalid";
  const context = message["context"] ?? emptyContext;
  if (!isJsonObject(context)) return "not-an-object";
  return isNestedDeeper(context, maxNesting) ? "invalid" : context;
}
