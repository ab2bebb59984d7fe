import type { EvaluationContext } from "@bunting/evaluation";
import { emptyContext } from "../context.js";
import { readStruct } from "./struct-reader.js";
import { WireReader, wireType } from "./wire-reader.js";

/** A Resolve request; the same on the wire in v1, v2 and schema.v1, for every accessor. */
export interface ResolveRequest {
  readonly flagKey: string;
  readonly context: EvaluationContext;
}

const flagKeyField = (1 << 3) | wireType.bytes;
const contextField = (2 << 3) | wireType.bytes;
const allContextField = (1 << 3) | wireType.bytes;

/** @throws RpcError INVALID_ARGUMENT for anything that is not a request. */
export function decodeResolveRequest(bytes: Uint8Array): ResolveRequest {
  const reader = new WireReader(bytes);
  const end = reader.length;
  let flagKey = "";
  let context: EvaluationContext | undefined;
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === flagKeyField) flagKey = reader.key(end);
    else if (tag === contextField) context = readStruct(reader, reader.messageEnd(end), context);
    else reader.skip(tag, end);
  }
  return { flagKey, context: context ?? emptyContext };
}

/** The context of a ResolveAll request; the same in v1 and schema.v1. */
export function decodeResolveAllRequest(bytes: Uint8Array): EvaluationContext {
  const reader = new WireReader(bytes);
  const end = reader.length;
  let context: EvaluationContext | undefined;
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === allContextField) context = readStruct(reader, reader.messageEnd(end), context);
    else reader.skip(tag, end);
  }
  return context ?? emptyContext;
}
