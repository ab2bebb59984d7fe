import { isJsonObject } from "@bunting/protocol";
import type { EvaluationContext } from "@bunting/evaluation";
import { emptyContext } from "../context.js";
import { parseFirstJson } from "../http/json-body.js";
import { isNestedDeeper, maxNesting } from "../nesting.js";

/** What an OFREP path names: all flags, or one. */
export type OfrepTarget = { readonly kind: "bulk" } | { readonly kind: "flag"; readonly key: string };

const bulkPath = "/ofrep/v1/evaluate/flags";
const bulk: OfrepTarget = { kind: "bulk" };

/** Undefined if it is not a path of OFREP. A slash at the end is ignored. */
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

/** The context to evaluate against; "not-an-object" means to evaluate without it, as flagd does. */
export type OfrepContext = EvaluationContext | "invalid" | "not-an-object";

/**
 * Reads the context of an OFREP request; both the body and the context in it are optional. As in flagd, a body of white space is empty, and
 * what follows the first JSON value is ignored.
 */
export function parseOfrepContext(body: Buffer): OfrepContext {
  const message = parseFirstJson(body);
  if (message === null) return emptyContext;
  if (!isJsonObject(message)) return "invalid";
  const context = message["context"] ?? emptyContext;
  if (!isJsonObject(context)) return "not-an-object";
  return isNestedDeeper(context, maxNesting) ? "invalid" : context;
}
