import type { JsonObject, JsonValue } from "@bunting/protocol";
import { mayHaveInfinity, measureJson, parseMeasuredJson } from "../http/json-body.js";

/**
 * Parses JSON as protobuf does, which refuses what JSON.parse takes: names that an object has twice, halves of surrogate pairs, numbers beyond
 * the range of a double, and values nested more than `maxJsonDepth` levels deep. Undefined for all that is not JSON.
 */
export function parseStrictJson(body: Buffer): JsonValue | undefined {
  const measure = measureJson(body);
  const value = parseMeasuredJson(body, measure);
  if (value === undefined) return undefined;
  const hasEscapes = body.includes("\\u");
  const mustCheckAll = hasEscapes || mayHaveInfinity(body);
  let members = 0;
  let unseen = isContainer(value) ? measure.containers - 1 : 0;
  // Not recursive: a value may be nested as deeply as the text is long.
  const rest: JsonValue[] = [value];
  const see = (member: JsonValue | undefined): void => {
    const isFound = isContainer(member);
    if (isFound) unseen--;
    if (member !== undefined && (isFound || mustCheckAll)) rest.push(member);
  };
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === "string") {
      if (hasEscapes && isBroken(next)) return undefined;
    } else if (typeof next === "number") {
      if (!Number.isFinite(next)) return undefined;
    } else if (typeof next === "object" && next !== null) {
      // Not Object.entries, which takes 5 MB for 100,000 members.
      const names = Array.isArray(next) ? undefined : Object.keys(next);
      members += names?.length ?? 0;
      if (hasEscapes && names?.some(isBroken) === true) return undefined;
      // Looking up 80,000 members takes as long as parsing them: where only objects are left to be found, and all were, it is left out.
      if (unseen === 0 && !mustCheckAll) continue;
      if (names === undefined) for (const item of next as readonly JsonValue[]) see(item);
      else for (const name of names) see((next as JsonObject)[name]);
    }
  }
  return members === measure.members ? value : undefined;
}

function isContainer(value: JsonValue | undefined): boolean {
  return typeof value === "object" && value !== null;
}

function isBroken(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
