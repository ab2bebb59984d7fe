import { isJsonObject, type JsonValue } from "@bunting/protocol";

export function valueAtPointer(value: JsonValue | undefined, pointer: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const step of stepsOf(pointer)) {
    if (isJsonObject(found)) found = Object.hasOwn(found, step) ? found[step] : undefined;
    else if (Array.isArray(found))
      found = (found as readonly JsonValue[])[/^\d+$/.test(step) ? Number(step) : -1];
    else return undefined;
  }
  return found;
}

/** The names on the way that a JSON pointer describes. */
export function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
