import { configurationAnnotation, type ExtensionNamespace } from "@bunting/extension";
import { isNestedDeeper } from "@bunting/outbound";
import type { JsonValue } from "@bunting/protocol";

/** More than people write. Whatever writes or compares JSON walks down its levels, and has no room for thousands. */
const maxDepth = 100;

/** What an application has for an extension; empty if it has nothing. */
export type Configured = { readonly configuration?: JsonValue } | { readonly problem: string };

/**
 * The configuration for an extension, of the annotations of what an object is made of, or else of its namespace.
 *
 * @param annotations of a FeatureFlagSource, a Flagd or a FeatureFlag
 */
export function configurationFor(
  extension: string,
  annotations: Readonly<Record<string, unknown>>,
  namespace: ExtensionNamespace,
): Configured {
  const annotation = configurationAnnotation(extension);
  const text = annotations[annotation] ?? namespace.annotations[annotation];
  if (text === undefined) return {};
  if (typeof text === "string" && isNestedDeeper(Buffer.from(text), maxDepth))
    return { problem: `the annotation ${annotation} has more than ${maxDepth} levels of objects and lists` };
  try {
    // What is no text, which API servers refuse, is no JSON either.
    return { configuration: JSON.parse(typeof text === "string" ? text : "") as JsonValue };
  } catch {
    return { problem: `the annotation ${annotation} is no JSON` };
  }
}
