import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { EvaluationContext } from "@bunting/evaluation";
import { emptyContext } from "../context.js";
import { parseFirstJson } from "../http/json-body.js";

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
  const context = contextOf(message) ?? emptyContext;
  return isJsonObject(context) ? context : "not-an-object";
}

/** As in Go, the name of a member may be in any case, and the last one counts. */
function contextOf(message: JsonObject): JsonValue | undefined {
  let context: JsonValue | undefined;
  for (const name in message) {
    if (name === "context" || (name.length === 7 && name.toLowerCase() === "context"))
      context = message[name];
  }
  return context;
}
