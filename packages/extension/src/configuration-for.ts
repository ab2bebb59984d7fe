import { unservable, type JsonValue } from "@bunting/protocol";
import { configurationAnnotation, type ExtensionNamespace } from "./extension-request.js";
import { jsonOf } from "./json-of.js";

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
  namespace: Pick<ExtensionNamespace, "annotations">,
): Configured {
  const annotation = configurationAnnotation(extension);
  const text = annotations[annotation] ?? namespace.annotations[annotation];
  if (text === undefined) return {};
  // What is no text, which API servers refuse, is no JSON either.
  const configuration = typeof text === "string" ? jsonOf(text) : undefined;
  if (configuration === undefined) return { problem: `the annotation ${annotation} is no JSON` };
  const problem = unservable(configuration, maxDepth);
  return problem === undefined ? { configuration } : { problem: `the annotation ${annotation} ${problem}` };
}
