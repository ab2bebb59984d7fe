import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bunting/protocol";
import { maxValues } from "../nesting.js";

export const jsonHeaders = { "content-type": "application/json" };

/** Go's JSON, and so flagd, has the same limit. The evaluation of a context is not recursive, or catches the overflow of the stack. */
export const maxJsonDepth = 10_000;
const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, openBrace, closeBracket, closeBrace] = [0x5b, 0x7b, 0x5d, 0x7d];
const whiteSpace: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);

/**
 * Parses the first JSON value of a request body, whatever follows it. Returns null for white space, and undefined without a valid value. As in
 * Go, bytes that are not UTF-8 become U+FFFD, and a number that is too large is an error.
 */
export function parseFirstJson(bytes: Buffer): JsonValue | undefined {
  // Most bodies are small, and one valid value. Decoding replaces bytes that are not UTF-8.
  if (bytes.length <= maxJsonDepth) {
    const text = bytes.toString();
    const value = parseText(text);
    if (value !== undefined) return mayOverflow.test(text) && hasInfinity(value) ? undefined : value;
  }
  const body = isUtf8(bytes) ? bytes : Buffer.from(bytes.toString());
  const first = parseFirst(body);
  return first !== undefined && mayHaveInfinity(body) && hasInfinity(first) ? undefined : first;
}

/** False if no number of a JSON text is beyond the range of a double. */
export function mayHaveInfinity(body: Buffer): boolean {
  return mayOverflow.test(body.toString("latin1"));
}

/** A number that is infinite when parsed has an exponent of at least three digits, or at least two hundred digits. */
const mayOverflow = /\d[eE]\+?\d{3}|(?<!\d)\d{200}/;

/** True if a number of the value is infinite. The search is not recursive, because values may be nested deeply. */
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
  const measure = measureJson(body);
  const whole = parseMeasuredJson(body, measure);
  if (whole !== undefined || !isOpening(body[start])) return whole;
  return measure.end < body.length ? parseMeasuredJson(body.subarray(0, measure.end), measure) : undefined;
}

/** The JSON of a request body; undefined if it is not UTF-8, not JSON, or would take far more memory than its text. */
export function parseMeasuredJson(body: Buffer, measure: JsonMeasure): JsonValue | undefined {
  return isExcessiveJson(measure) || !isUtf8(body) ? undefined : parseText(body.toString());
}

function parseText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** True if parsing could exhaust the agent's memory: JSON.parse takes some 90 bytes for each level and each small value. */
function isExcessiveJson({ depth, values }: JsonMeasure): boolean {
  return depth > maxJsonDepth || values > maxValues;
}

/** The measures of the first object or array of a JSON text. */
export interface JsonMeasure {
  /** How deep it is nested. */
  readonly depth: number;
  /** How many values it has at most. */
  readonly values: number;
  /** How many of them are objects or arrays. */
  readonly containers: number;
  /** How many members its objects have; a repeated member counts each time. */
  readonly members: number;
  /** Where it ends; the end of the text if it is incomplete. */
  readonly end: number;
}

export function measureJson(text: Buffer): JsonMeasure {
  let [deepest, depth, commas, containers, members, isText] = [0, 0, 0, 0, 0, false];
  let at = 0;
  for (let isWhole = false; at < text.length && !isWhole; at++) {
    const byte = text[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at++;
    } else if (byte === comma) commas++;
    else if (byte === colon) members++;
    else if (isOpening(byte)) {
      containers++;
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (byte === closeBrace || byte === closeBracket) isWhole = --depth === 0;
  }
  const end = Math.min(at, text.length);
  return { depth: deepest, values: 1 + commas + containers, containers, members, end };
}

function isOpening(byte: number | undefined): boolean {
  return byte === openBrace || byte === openBracket;
}
