import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bunting/protocol";

/** What the listeners answer with. */
export const jsonHeaders = { "content-type": "application/json" };

const [quote, backslash] = [0x22, 0x5c];
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const whiteSpace: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);

/** The first JSON value of a request body, which may be followed by anything; null for white space, undefined if there is no valid one. */
export function parseFirstJson(body: Buffer): JsonValue | undefined {
  const start = body.findIndex((byte) => !whiteSpace.has(byte));
  if (start === -1) return null;
  const whole = parseJsonBody(body);
  if (whole !== undefined) return whole;
  const end = endOfFirst(body, start);
  return end < body.length ? parseJsonBody(body.subarray(0, end)) : undefined;
}

/** Where the object or array that begins at `start` ends; the end of the body if it does not, or something else begins there. */
function endOfFirst(body: Buffer, start: number): number {
  if (!opening.has(body[start] ?? 0)) return body.length;
  let depth = 0;
  let isText = false;
  for (let at = start; at < body.length; at++) {
    const byte = body[at] ?? 0;
    if (isText && byte === backslash) at++;
    else if (byte === quote) isText = !isText;
    else if (isText) continue;
    else if (opening.has(byte)) depth++;
    else if (closing.has(byte) && --depth === 0) return at + 1;
  }
  return body.length;
}

/** The JSON of a request body; undefined if it is not UTF-8 or not JSON. */
export function parseJsonBody(body: Buffer): JsonValue | undefined {
  if (!isUtf8(body)) return undefined;
  try {
    return JSON.parse(body.toString()) as JsonValue;
  } catch {
    return undefined;
  }
}
