import type { JsonObject, JsonValue } from "@bunting/protocol";
import { parseJsonBody } from "../http/json-body.js";

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const [openBracket, openBrace, closeBracket, closeBrace] = [0x5b, 0x7b, 0x5d, 0x7d];

/** As in flagd. What evaluates a context is not recursive, or survives the end of the stack. */
export const maxJsonDepth = 10_000;

/**
 * Parses JSON as protobuf does, which refuses what JSON.parse takes: names that an object has twice, halves of surrogate pairs, numbers beyond
 * the range of a double, and values nested more than `maxJsonDepth` levels deep. Undefined for all that is not JSON.
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
      // Not Object.entries, which takes 5 MB for 100,000 members.
      for (const name of Object.keys(next)) {
        if (hasEscapes && isBroken(name)) return undefined;
        members++;
        const member = (next as JsonObject)[name];
        if (member !== undefined) rest.push(member);
      }
    }
  }
  return members === countMembers(body) ? value : undefined;
}

function isBroken(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** How many members the objects of a valid JSON text have, counting those that are repeated; NaN if it is nested too deeply. */
function countMembers(text: Buffer): number {
  let [members, depth, isText] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at++;
    } else if (byte === colon) members++;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxJsonDepth) return Number.NaN;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return members;
}
