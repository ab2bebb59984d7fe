import type { JsonValue } from "@bunting/protocol";

/**
 * The characters of the paths to all values inside a value: whoever lists its fields by their paths takes as many. A long name with many fields below it is
 * short as JSON, and has paths of gigabytes.
 *
 * @param most where counting ends
 */
export function pathCharacters(value: JsonValue, most: number, above = 0): number {
  if (typeof value !== "object" || value === null) return above;
  let sum = above;
  for (const [name, inner] of Object.entries(value as Readonly<Record<string, JsonValue>>)) {
    sum += pathCharacters(inner, most - sum, above + 1 + name.length);
    if (sum > most) break;
  }
  return sum;
}
