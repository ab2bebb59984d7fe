import { isJsonObject, parseAnySelector, ProtocolError } from "@bunting/protocol";
import type { ShownContainer } from "../operator/shown-pod.js";

/** The FeatureFlags that a sidecar reads from a proxy, by its arguments; each once. */
export function topicsOfSidecar({ args = [] }: ShownContainer): readonly string[] {
  const text = args[args.indexOf("--sources") + 1] ?? "";
  let sources: unknown;
  try {
    sources = JSON.parse(text);
  } catch {
    // Arguments that somebody else has written.
    return [];
  }
  if (!Array.isArray(sources)) return [];
  return [...new Set(sources.flatMap(topicOf))];
}

function topicOf(source: unknown): readonly string[] {
  const { provider, selector } = isJsonObject(source as never)
    ? (source as { readonly provider?: unknown; readonly selector?: unknown })
    : {};
  if (provider !== "grpc" || typeof selector !== "string") return [];
  try {
    return [parseAnySelector(selector)];
  } catch (error) {
    if (error instanceof ProtocolError) return [];
    throw error;
  }
}
