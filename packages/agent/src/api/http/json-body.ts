import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bunting/protocol";
import { maxValues } from "../nesting.js";

/** What the listeners answer with. */
export const jsonHeaders = { "content-type": "application/json" };

/** As in Go's JSON, and so in flagd. */
const maxDepth = 10_000;
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const whiteSpace: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);

/**
 * The first JSON value of a request body, which may be followed by anything; null for white space, undefined if there is no valid one. As in
 * Go, what is not UTF-8 becomes U+FFFD, and a number that is too large is an error.
 */
export function parseFirstJson(bytes: Buffer): JsonValue | undefined {
  const body = isUtf8(bytes) ? bytes : Buffer.from(bytes.toString());
  const first = parseFirst(body);
  return first !== undefined && mayOverflow.test(body.toString("latin1")) && hasInfinity(first)
    ? undefined
    : first;
}

/** Any number that is infinite when parsed has such an exponent, or as many digits. */
const mayOverflow = /\d[eE]\+?\d{3}|(?<!\d)\d{200}/;

/** Not recursive: values may be nested as deeply as a body allows. */
function hasInfinity(value: JsonValue): boolean {
  const left: JsonValue[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next === Infinity || next === -Infinity) return true;
    if (typeof next === "object" && next !== null)
      for (const member of Object.values(next)) left.push(member);
  }
  return false;
}

function parseFirst(body: Buffer): JsonValue | undefined {
  const start = body.findIndex((byte) => !whiteSpace.has(byte));
  if (start === -1) return null;
  const whole = parseJsonBody(body);
  if (whole !== undefined || !opening.has(body[start] ?? 0)) return whole;
  const { end } = measure(body);
  return end < body.length ? parseJsonBody(body.subarray(0, end)) : undefined;
}

/** The JSON of a request body; undefined if it is not UTF-8, not JSON, or would take far more memory than its text. */
export function parseJsonBody(body: Buffer): JsonValue | undefined {
  if (!isUtf8(body) || isExcessive(body)) return undefined;
  try {
    return JSON.parse(body.toString()) as JsonValue;
  } catch {
    return undefined;
  }
}

/** JSON.parse takes some 90 bytes for each level, and for each small value, so that a body of 1 MB could exhaust the memory of the agent. */
function isExcessive(body: Buffer): boolean {
  if (body.length <= maxDepth) return false;
  const { depth, values } = measure(body);
  return depth > maxDepth || values > maxValues;
}

/** How deep the first object or array of a JSON text is nested, how many values it has at most, and where it ends, if it does. */
function measure(text: Buffer): { readonly depth: number; readonly values: number; readonly end: number } {
  let [deepest, depth, values, isText] = [0, 0, 1, false];
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === comma) values++;
    else if (opening.has(byte)) {
      values++;
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (closing.has(byte) && --depth === 0) return { depth: deepest, values, end: at + 1 };
  }
  return { depth: deepest, values, end: text.length };
}
