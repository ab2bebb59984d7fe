import type { JsonValue } from "@bunting/protocol";
import { parseJsonBody } from "../http/json-body.js";

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];

/**
 * Parses JSON as protobuf does, which refuses what JSON.parse takes: names that an object has twice, halves of surrogate pairs, and numbers
 * beyond the range of a double. Undefined for all that is not JSON.
 */
export function parseStrictJson(body: Buffer): JsonValue | undefined {
  const value = parseJsonBody(body);
  if (value === undefined) return undefined;
  const hasEscapes = body.includes("\\u");
  let members = 0;
  // Not recursive: a value may be nested as deeply as the text is long.
  const rest: JsonValue[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === "string") {
      if (hasEscapes && isBroken(next)) return undefined;
    } else if (typeof next === "number") {
      if (!Number.isFinite(next)) return undefined;
    } else if (Array.isArray(next)) {
      for (const item of next as readonly JsonValue[]) rest.push(item);
    } else if (typeof next === "object" && next !== null) {
      for (const [name, member] of Object.entries(next)) {
        if (hasEscapes && isBroken(name)) return undefined;
        members++;
        rest.push(member);
      }
    }
  }
  return members === countMembers(body) ? value : undefined;
}

function isBroken(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** How many members the objects of a valid JSON text have, counting those that are repeated. */
function countMembers(text: Buffer): number {
  let [members, isText] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at++;
    } else if (byte === colon) members++;
  }
  return members;
}
