import {
  contextKeyProblem,
  headerProblem,
  type EnvironmentVariable,
  type FeatureFlagSourceSpec,
  type ResourceRequirements,
} from "@bunting/featureflags/resources";
import type { Severity } from "@bunting/featureflags/checks";
import { quoted } from "@bunting/runtime";
import { usableEnvironment } from "../desired/usable-environment.js";
import { nanoUnits } from "../pod/quantity.js";
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

/** Linux starts no program with a longer argument (MAX_ARG_STRLEN, 128 KiB); the sources become one, as JSON. */
const maxSourcesBytes = 120_000;

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
    ...checkVariables(spec.envVars ?? []),
    ...checkResources(spec.resources ?? {}),
    ...checkContext(spec),
  ].map((finding) => ({ ...finding, path: ["spec", ...finding.path] }));
}

/** Where the Pods are, and what the operator decides, changes nothing of the settings that are checked here. */
const anywhere = {
  namespace: "",
  proxyAddress: "",
  providerKubernetes: "proxy",
  crossNamespace: "deny",
} as const;

function checkSources({
  sources,
  defaultSyncProvider,
  syncProviderArgs = [],
}: FeatureFlagSourceSpec): SourceFinding[] {
  const findings: SourceFinding[] = [];
  const bytes = Buffer.byteLength(JSON.stringify(sources));
  if (bytes > maxSourcesBytes) {
    const message = `the sources take ${bytes} bytes, and the sidecar can be started with ${maxSourcesBytes}: use several FeatureFlagSources for different workloads, or larger FeatureFlags`;
    findings.push({ severity: "error", message, path: ["sources"] });
  }
  const first = new Map<string, number>();
  sources.forEach((entry, index) => {
    const { source, provider, httpSyncBearerToken } = entry;
    const place = ["sources", String(index)];
    const resolved = resolveSource(entry, defaultSyncProvider, anywhere);
    if ("reason" in resolved && resolved.reason === "InvalidSetting")
      findings.push({ severity: "error", message: resolved.message, path: place });
    const key = JSON.stringify([provider, source]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, index);
    else {
      const message = `${quoted(source)} is there already as sources[${earlier}]: flags of the later one win`;
      findings.push({ severity: "warning", message, path: place });
    }
    if (httpSyncBearerToken === undefined || httpSyncBearerToken === "") return;
    const message =
      "whoever may read this object, or a Pod that uses it, reads the token: name a Secret in credentialsSecretRef instead";
    findings.push({ severity: "warning", message, path: [...place, "httpSyncBearerToken"] });
  });
  if (syncProviderArgs.length > 0) {
    const message = "they are left out: flagd has not known them since 0.8, and would not start";
    findings.push({ severity: "warning", message, path: ["syncProviderArgs"] });
  }
  return findings;
}

function checkSetting(field: string, problem: SourceProblem | undefined): SourceFinding[] {
  return problem === undefined ? [] : [{ severity: "error", message: problem.message, path: [field] }];
}

function checkVariables(variables: readonly EnvironmentVariable[]): SourceFinding[] {
  const findings: SourceFinding[] = [];
  const seen = new Set<string>();
  variables.forEach((variable, index) => {
    const path = ["envVars", String(index)];
    for (const { message } of usableEnvironment([variable]).problems)
      findings.push({ severity: "error", message, path });
    const { name, value = "", valueFrom } = variable;
    if (value !== "" && valueFrom !== undefined) {
      const message = `the variable ${quoted(name)} has a value and a reference: the value counts`;
      findings.push({ severity: "warning", message, path });
    }
    if (seen.has(name)) {
      const message = `the variable ${quoted(name)} is there already: the last value counts`;
      findings.push({ severity: "warning", message, path: [...path, "name"] });
    }
    seen.add(name);
  });
  return findings;
}

function checkResources({ limits = {}, requests = {} }: ResourceRequirements): SourceFinding[] {
  const findings: SourceFinding[] = [];
  for (const [list, quantities] of Object.entries({ limits, requests })) {
    for (const [name, quantity] of Object.entries(quantities)) {
      const amount = nanoUnits(quantity);
      if (amount !== undefined && amount >= 0n) continue;
      const message = `${quoted(String(quantity))} is no quantity: write one as 250m, 0.5, 64Mi or 1G`;
      findings.push({ severity: "error", message, path: ["resources", list, name] });
    }
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = limits[name];
    const [least, most] = [nanoUnits(request), limit === undefined ? undefined : nanoUnits(limit)];
    if (least === undefined || most === undefined || least <= most) continue;
    const message = `${request} is more than the limit, ${limit}: Kubernetes would refuse the Pods`;
    findings.push({ severity: "error", message, path: ["resources", "requests", name] });
  }
  return findings;
}

function checkContext({
  contextValues = {},
  headerToContextMappings = {},
  cors = [],
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
  cors.forEach((origin, index) => {
    if (origin === "*" || /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/i.test(origin)) return;
    const message = `no page has the origin ${quoted(origin)}: write scheme and host, as https://shop.example`;
    findings.push({ severity: "warning", message, path: ["cors", String(index)] });
  });
  return findings;
}
