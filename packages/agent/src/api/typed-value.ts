import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/** The type that a client asks a flag's value as: the last word of `ResolveBoolean` … */
export type Accessor = "Boolean" | "String" | "Float" | "Int" | "Object";

export const accessors: readonly Accessor[] = ["Boolean", "String", "Float", "Int", "Object"];

/** A value that fits its accessor. */
export type TypedValue = boolean | string | number | JsonObject;

/**
 * The value as the accessor asks for it, or undefined if it is of another type. A number becomes an Int by losing its fraction, as
 * in flagd (and minus zero its sign: int64 has none). A list is no Object.
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

/** What protocols without a word for "no value" send instead of one. */
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

/** The accessor that a value is sent as where nobody asked for a type (ResolveAll); undefined for null and lists. */
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
