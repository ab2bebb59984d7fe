import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/** The type that a client requests a flag's value as: the last word of `ResolveBoolean` etc. */
export type Accessor = "Boolean" | "String" | "Float" | "Int" | "Object";

export const accessors: readonly Accessor[] = ["Boolean", "String", "Float", "Int", "Object"];

/** A value that fits its accessor. */
export type TypedValue = boolean | string | number | JsonObject;

/**
 * The value as the accessor's type, or undefined if it has another type. A number becomes an Int by dropping its fraction, as in flagd
 * (and minus zero drops its sign: int64 has none). A list is not an Object.
 */
export function typedValue(accessor: Accessor, value: JsonValue | undefined): TypedValue | undefined {
  switch (accessor) {
    case "Boolean":
      return typeof value === "boolean" ? value : undefined;
    case "String":
      return typeof value === "string" ? value : undefined;
    case "Float":
      return typeof value === "number" ? value : undefined;
    case "Int":
      return typeof value === "number" ? Math.trunc(value) + 0 : undefined;
    case "Object":
      return isJsonObject(value) ? value : undefined;
  }
}

const emptyObject: JsonObject = Object.freeze({});

/** What protocols that can't express "no value" send instead. */
export function zeroValue(accessor: Accessor): TypedValue {
  switch (accessor) {
    case "Boolean":
      return false;
    case "String":
      return "";
    case "Float":
    case "Int":
      return 0;
    case "Object":
      return emptyObject;
  }
}

/** The accessor that a value is sent as where the request names no type (ResolveAll); undefined for null and lists. */
export function accessorOf(value: JsonValue | undefined): Accessor | undefined {
  switch (typeof value) {
    case "boolean":
      return "Boolean";
    case "string":
      return "String";
    case "number":
      return "Float";
    default:
      return isJsonObject(value) ? "Object" : undefined;
  }
}
