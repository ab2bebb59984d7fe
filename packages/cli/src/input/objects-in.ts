import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

type Path = readonly string[];

/** An object of a manifest, and where it is in its document. */
export interface PlacedObject {
  readonly at: Path;
  readonly value: JsonObject;
}

/** The objects of a document, those of a List one by one. */
export function objectsIn(value: JsonValue, at: Path = []): readonly PlacedObject[] {
  if (!isJsonObject(value)) return [];
  const { items } = value;
  if (typeof value["kind"] !== "string" || !Array.isArray(items)) return [{ at, value }];
  return (items as readonly JsonValue[]).flatMap((item, index) =>
    objectsIn(item, [...at, "items", String(index)]),
  );
}

/** The object at a path within another; undefined if there is none. */
export function objectAt(object: JsonObject, ...path: Path): JsonObject | undefined {
  let value: JsonValue | undefined = object;
  for (const step of path) value = isJsonObject(value) ? value[step] : undefined;
  return isJsonObject(value) ? value : undefined;
}
