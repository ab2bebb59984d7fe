import { quoted } from "@bunting/runtime";
import type { SourceProblem } from "./source-problem.js";

/** Reason for which the sidecar would not start with this collector; undefined if it would. Nobody knows what Kubernetes will put in the place of `$(NAME)`. */
export function collectorProblem(uri = ""): SourceProblem | undefined {
  const isAddress = URL.canParse(`https://${uri.replace(/^https?:\/\//, "")}`);
  // The sidecar knows no other schemes: it would take them for hosts.
  const hasOtherScheme = /^(?!https?:\/\/)[^/]*:\//.test(uri);
  if (uri === "" || uri.includes("$(") || (isAddress && !hasOtherScheme)) return undefined;
  const message = `otelCollectorUri: ${quoted(uri)} is left out: the sidecar would not start; write HOST:PORT, or https://HOST:PORT`;
  return { reason: "InvalidSetting", message };
}

/** The merged spec without a collector that ends the sidecar's start. */
export function withUsableCollector<Spec extends { readonly otelCollectorUri?: string }>(
  spec: Spec,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const problem = collectorProblem(spec.otelCollectorUri);
  return problem === undefined
    ? { spec, problems: [] }
    : { spec: { ...spec, otelCollectorUri: "" }, problems: [problem] };
}
