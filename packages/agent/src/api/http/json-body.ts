import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bunting/protocol";

/** What the listeners answer with. */
export const jsonHeaders = { "content-type": "application/json" };

/** The JSON of a request body; undefined if it is not UTF-8 or not JSON. */
export function parseJsonBody(body: Buffer): JsonValue | undefined {
  if (!isUtf8(body)) return undefined;
  try {
    return JSON.parse(body.toString()) as JsonValue;
  } catch {
    return undefined;
  }
}
