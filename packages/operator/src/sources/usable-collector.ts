import { collectorProblem } from "@bunting/featureflags/resources";
import { quoted } from "@bunting/runtime";
import type { SourceProblem } from "./source-problem.js";

/** Reason for which a collector is left out; undefined if it is not. */
export function unusableCollector(uri = ""): SourceProblem | undefined {
  const problem = collectorProblem(uri);
  if (problem === undefined) return undefined;
  return { reason: "InvalidSetting", message: `otelCollectorUri: ${quoted(uri)} is left out: ${problem}` };
}

/** The merged spec without a collector that ends the sidecar's start. */
export function withUsableCollector<Spec extends { readonly otelCollectorUri?: string }>(
  spec: Spec,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const problem = unusableCollector(spec.otelCollectorUri);
  return problem === undefined
    ? { spec, problems: [] }
    : { spec: { ...spec, otelCollectorUri: "" }, problems: [problem] };
}
