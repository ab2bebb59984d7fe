import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { RpcError } from "@bunting/rpc";
import type { EvaluationContext } from "@bunting/evaluation";
import type { ResolveRequest } from "../codec/resolve-request.js";
import { emptyContext } from "../context.js";
import { maxJsonDepth } from "../http/json-body.js";
import { parseStrictJson } from "./strict-json.js";

/** Reads a Resolve request in protobuf's JSON form: both spellings of a field's name, unknown fields ignored. */
export function parseResolveRequest(body: Buffer): ResolveRequest {
  const message = parseMessage(body);
  if ("flagKey" in message && "flag_key" in message) throw invalid(`"flagKey" is there twice`);
  const flagKey = message["flagKey"] ?? message["flag_key"] ?? "";
  if (typeof flagKey !== "string") throw invalid(`"flagKey" must be a string`);
  return { flagKey, context: contextOf(message) };
}

/** Reads a ResolveAll request in protobuf's JSON form. */
export function parseResolveAllRequest(body: Buffer): EvaluationContext {
  return contextOf(parseMessage(body));
}

/** Checks an EventStream request. Its fields have no meaning. */
export function checkEventStreamRequest(body: Buffer): void {
  parseMessage(body);
}

function contextOf(message: JsonObject): EvaluationContext {
  const context = message["context"] ?? emptyContext;
  if (!isJsonObject(context)) throw invalid(`"context" must be an object`);
  return context;
}

function parseMessage(body: Buffer): JsonObject {
  if (body.length === 0) throw invalid("the body is empty; send {} for a request without fields");
  const message = parseStrictJson(body);
  if (message === undefined)
    throw invalid(
      `the body is not JSON in UTF-8, has a name twice, or is nested more than ${maxJsonDepth} levels deep`,
    );
  if (!isJsonObject(message)) throw invalid("the body must be a JSON object");
  return message;
}

function invalid(what: string): RpcError {
  return new RpcError("INVALID_ARGUMENT", `The request can't be read: ${what}.`);
}
