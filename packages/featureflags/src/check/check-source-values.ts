import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { definedFields } from "../resource/defined-fields.js";
import type { EnvironmentVariable } from "../resource/environment-variable.js";
import { nanoUnits } from "../resource/quantity.js";
import { variableProblem } from "../resource/usable-variable.js";
import type { Finding, Severity } from "./finding.js";

type Path = readonly string[];

/** Linux starts no program with a longer argument (MAX_ARG_STRLEN, 128 KiB); the sources become one, as JSON. */
const maxSourcesBytes = 120_000;

/** As a browser sends it, "null" of a sandboxed page for instance; a `*` stands for any text, also for that before the host. */
const originForm = /^(?:null|\*[^/\s]*|[a-z*][a-z0-9+.*-]*:\/\/[^/\s]+)$/i;

/**
 * Findings about values of a FeatureFlagSource that its definition takes: with an error, Pods that use it could not be created, or their sidecar
 * could not start. What does not have the type of the definition is passed over. Paths begin at the spec.
 */
export function checkSourceValues(spec: JsonObject): readonly Finding[] {
  const { sources, syncProviderArgs, envVars, resources, cors } = definedFields(spec);
  const leftOut = "they are left out: flagd has not known them since 0.8, and would not start";
  return [
    ...checkSources(listOf(sources)),
    ...(listOf(syncProviderArgs).length === 0 ? [] : [finding("warning", leftOut, ["syncProviderArgs"])]),
    ...checkVariables(listOf(envVars)),
    ...(isObject(resources) ? checkResources(definedFields(resources)) : []),
    ...listOf(cors).flatMap((origin, index) => checkOrigin(origin, ["cors", String(index)])),
  ];
}

function checkSources(sources: readonly JsonValue[]): readonly Finding[] {
  const findings: Finding[] = [];
  const bytes = Buffer.byteLength(JSON.stringify(sources));
  if (bytes > maxSourcesBytes) {
    const message = `the sources take ${bytes} bytes, and the sidecar can be started with ${maxSourcesBytes}: use several FeatureFlagSources for different workloads, or larger FeatureFlags`;
    findings.push(finding("error", message, ["sources"]));
  }
  const first = new Map<string, number>();
  sources.forEach((entry, index) => {
    const given = isObject(entry) ? definedFields(entry) : {};
    const { source, provider, selector, httpSyncBearerToken = "" } = given;
    if (typeof source !== "string") return;
    const place = ["sources", String(index)];
    const key = JSON.stringify([provider, source, selector]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, index);
    else {
      const message = `${quoted(source)} is there already as sources[${earlier}]: flags of the later one win`;
      findings.push(finding("warning", message, place));
    }
    if (httpSyncBearerToken === "") return;
    const message =
      "whoever may read this object, or a Pod that uses it, reads the token: name a Secret in credentialsSecretRef instead";
    findings.push(finding("warning", message, [...place, "httpSyncBearerToken"]));
  });
  return findings;
}

function checkVariables(variables: readonly JsonValue[]): readonly Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  variables.forEach((written, index) => {
    const variable = variableOf(written);
    if (variable === undefined) return;
    const path = ["envVars", String(index)];
    const problem = variableProblem(variable);
    if (problem !== undefined) findings.push(finding("error", problem, path));
    const { name, value = "", valueFrom } = variable;
    if (value !== "" && valueFrom !== undefined) {
      const message = `the variable ${quoted(name)} has a value and a reference: the value counts`;
      findings.push(finding("warning", message, path));
    }
    if (seen.has(name)) {
      const message = `the variable ${quoted(name)} is there already: the last value counts`;
      findings.push(finding("warning", message, [...path, "name"]));
    }
    seen.add(name);
  });
  return findings;
}

/** Undefined if it has not the form of a variable. */
function variableOf(written: JsonValue): EnvironmentVariable | undefined {
  const { name, value = "", valueFrom } = isObject(written) ? definedFields(written) : {};
  if (typeof name !== "string" || typeof value !== "string") return undefined;
  if (valueFrom === undefined) return { name, value };
  const references = isObject(valueFrom) ? definedFields(valueFrom) : undefined;
  if (references === undefined || !Object.values(references).every(isObject)) return undefined;
  return { name, value, valueFrom: references };
}

function checkResources({ limits, requests }: JsonObject): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [list, quantities] of Object.entries({ limits, requests })) {
    for (const [name, quantity] of Object.entries(quantitiesIn(quantities))) {
      const amount = nanoUnits(quantity);
      if (amount !== undefined && amount >= 0n) continue;
      const message = `${quoted(String(quantity))} is no quantity: write one as 250m, 0.5, 64Mi or 1G`;
      findings.push(finding("error", message, ["resources", list, name]));
    }
  }
  for (const [name, request] of Object.entries(quantitiesIn(requests))) {
    const limit = quantitiesIn(limits)[name];
    const [least, most] = [nanoUnits(request), limit === undefined ? undefined : nanoUnits(limit)];
    if (least === undefined || most === undefined || least <= most) continue;
    const message = `${request} is more than the limit, ${limit}: Kubernetes would refuse the Pods`;
    findings.push(finding("error", message, ["resources", "requests", name]));
  }
  return findings;
}

function quantitiesIn(quantities: JsonValue | undefined): Readonly<Record<string, string | number>> {
  const isQuantity = (value: unknown): boolean => typeof value === "string" || typeof value === "number";
  const given = Object.entries(isObject(quantities) ? quantities : {}).filter(([, each]) => isQuantity(each));
  return Object.fromEntries(given) as Readonly<Record<string, string | number>>;
}

function checkOrigin(origin: JsonValue, path: Path): readonly Finding[] {
  if (typeof origin !== "string" || originForm.test(origin)) return [];
  const message = `no page has the origin ${quoted(origin)}: write scheme and host, as https://shop.example`;
  return [finding("warning", message, path)];
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

function finding(severity: Severity, message: string, path: Path): Finding {
  return { severity, kind: "source", message, path };
}
