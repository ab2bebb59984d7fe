import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { ExtensionObject } from "./extension-request.js";

export function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** True for what has the names that an object of Kubernetes has. */
export function isExtensionObject(value: JsonValue | undefined): value is ExtensionObject {
  if (!isJsonObject(value)) return false;
  const { apiVersion, kind, metadata } = value;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  return [apiVersion, kind, name].every((each) => typeof each === "string" && each !== "");
}

/** True for labels, annotations and the like. */
export function isTexts(value: JsonValue): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each === "string");
}
