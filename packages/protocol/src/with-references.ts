import { isJsonObject, type JsonValue } from "./json.js";

/** A value with other names in its references, `{"$ref": "name"}`; what has none keeps its object. Documents are bounded in depth. */
export function withReferences(value: JsonValue, nameFor: (name: string) => string): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) {
    const list = value;
    const items = list.map((item) => withReferences(item, nameFor));
    return items.every((item, index) => item === list[index]) ? list : items;
  }
  const { $ref } = value;
  if (typeof $ref === "string" && Object.keys(value).length === 1) {
    const name = nameFor($ref);
    return name === $ref ? value : { $ref: name };
  }
  const members = Object.entries(value).map(([key, member]): [string, JsonValue] => [
    key,
    withReferences(member, nameFor),
  ]);
  return members.every(([key, member]) => member === value[key]) ? value : Object.fromEntries(members);
}
