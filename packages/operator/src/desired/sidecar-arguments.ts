import type { DefaultedFeatureFlagSource } from "@bunting/featureflags/resources";
import type { SourceElement } from "../sources/source-element.js";

/**
 * The arguments of the sidecar, in the open-feature-operator's order. They are only those that flagd knows: so the image of a running sidecar can
 * be changed from flagd to ours and back, while its arguments can't be changed. Hence nothing of `syncProviderArgs`, which ends flagd's start
 * since 0.8 and has no effect with ours; whatever only our agent knows is in variables.
 */
export function sidecarArguments(
  spec: DefaultedFeatureFlagSource,
  sources: readonly SourceElement[],
): readonly string[] {
  const { managementPort, port, debugLogging, otelCollectorUri = "", cors = [], ofrepPort } = spec;
  return [
    "start",
    ...["--management-port", String(managementPort), "--port", String(port)],
    ...["--sources", JSON.stringify(sources)],
    ...(debugLogging ? ["--debug"] : []),
    ...(otelCollectorUri === ""
      ? []
      : ["--metrics-exporter", "otel", "--otel-collector-uri", otelCollectorUri]),
    ...pairsOf(spec.contextValues).flatMap((pair) => ["--context-value", pair]),
    ...pairsOf(spec.headerToContextMappings).flatMap((pair) => ["--context-from-header", pair]),
    ...cors.flatMap((origin) => ["--cors-origin", origin]),
    ...["--ofrep-port", String(ofrepPort)],
  ];
}

/** By key. A key that is empty, or has a comma, would end the sidecar's start, and one that begins with a brace would be read as JSON. */
function pairsOf(map: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(map)
    .filter(([key]) => key.trim() !== "" && !/^\s*[={]|,/.test(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
}
