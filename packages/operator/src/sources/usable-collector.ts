import { collectorProblem } from "@bunting/featureflags/resources";
import { quoted } from "@bunting/runtime";
import type { ProviderRules } from "./source-element.js";
import type { SourceProblem } from "./source-problem.js";

/** Reason for which a collector is left out; undefined if it is not. flagd takes any target of gRPC, such as `dns:///otel:4317`. */
export function unusableCollector(
  uri = "",
  { isFlagd = false }: Pick<ProviderRules, "isFlagd"> = {},
): SourceProblem | undefined {
  const problem = isFlagd ? undefined : collectorProblem(uri);
  if (problem === undefined) return undefined;
  return { reason: "InvalidSetting", message: `otelCollectorUri: ${quoted(uri)} is left out: ${problem}` };
}

/** The merged spec without a collector that ends the sidecar's start. */
export function withUsableCollector<Spec extends { readonly otelCollectorUri?: string }>(
  spec: Spec,
  rules?: Pick<ProviderRules, "isFlagd">,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const problem = unusableCollector(spec.otelCollectorUri, rules);
  return problem === undefined
    ? { spec, problems: [] }
    : { spec: { ...spec, otelCollectorUri: "" }, problems: [problem] };
}
