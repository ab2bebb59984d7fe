import { checkSourceValues, type Severity } from "@bunting/featureflags/checks";
import {
  contextKeyProblem,
  headerProblem,
  type FeatureFlagSourceSpec,
} from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import { resolveSource, type ProviderRules } from "../sources/source-element.js";
import type { SourceProblem } from "../sources/source-problem.js";
import { unusableCollector } from "../sources/usable-collector.js";
import { unusablePrefix } from "../sources/usable-prefix.js";

/** A finding about a FeatureFlagSource. With an error, Pods that use it could not be created, or their sidecar could not start. */
export interface SourceFinding {
  readonly severity: Severity;
  readonly message: string;
  /** Of the field, from the object. */
  readonly path: readonly string[];
}

/** What will read the sources. */
export type SourceReader = Pick<ProviderRules, "isFlagd">;

/**
 * Checks what the definition of the type can't: rules about fields of any form, and about several fields together.
 *
 * @param spec as the API server has it, so that its fields have the types of the definition
 */
export function checkFeatureFlagSource(
  spec: FeatureFlagSourceSpec,
  reader: SourceReader = {},
): readonly SourceFinding[] {
  return [
    ...checkSources(spec),
    ...checkSetting("envVarPrefix", unusablePrefix(spec.envVarPrefix)),
    ...checkSetting("otelCollectorUri", unusableCollector(spec.otelCollectorUri, reader)),
    ...checkContext(spec),
    ...checkSourceValues(spec as unknown as JsonObject),
  ].map((finding) => ({ ...finding, path: ["spec", ...finding.path] }));
}

/** Where the Pods are, and what the operator decides, changes nothing of the settings that are checked here. */
const anywhere = {
  namespace: "",
  proxyAddress: "",
  providerKubernetes: "proxy",
  crossNamespace: "deny",
} as const;

function checkSources({ sources, defaultSyncProvider }: FeatureFlagSourceSpec): SourceFinding[] {
  return sources.flatMap((entry, index) => {
    const resolved = resolveSource(entry, defaultSyncProvider, anywhere);
    if (!("reason" in resolved) || resolved.reason !== "InvalidSetting") return [];
    return [{ severity: "error", message: resolved.message, path: ["sources", String(index)] }];
  });
}

function checkSetting(field: string, problem: SourceProblem | undefined): SourceFinding[] {
  return problem === undefined ? [] : [{ severity: "error", message: problem.message, path: [field] }];
}

function checkContext({
  contextValues = {},
  headerToContextMappings = {},
}: FeatureFlagSourceSpec): SourceFinding[] {
  const findings: SourceFinding[] = [];
  for (const key of Object.keys(contextValues)) {
    const message = contextKeyProblem(key);
    if (message !== undefined) findings.push({ severity: "error", message, path: ["contextValues", key] });
  }
  for (const header of Object.keys(headerToContextMappings)) {
    const message = headerProblem(header);
    if (message !== undefined)
      findings.push({ severity: "error", message, path: ["headerToContextMappings", header] });
  }
  return findings;
}
