import { isJsonObject, isNamespaceName, isObjectName, type JsonObject } from "@bunting/protocol";
import { didYouMean, nearestWord, quoted } from "@bunting/runtime/options";
import { definedFields } from "../resource/defined-fields.js";
import { featureFlagSourceDefaults } from "../resource/feature-flag-source.js";
import { resourceFields } from "../resource/resource-fields.js";
import {
  collectorProblem,
  contextKeyProblem,
  headerProblem,
  prefixProblem,
  sourceProblem,
} from "../resource/sidecar-start.js";
import { checkSourceValues } from "./check-source-values.js";
import type { Finding } from "./finding.js";

type Path = readonly string[];

const providers = ["kubernetes", "file", "http", "grpc", "gcs", "azblob", "s3", "flagd-proxy"];
const addressProviders = ["http", "grpc", "gcs", "azblob", "s3"] as const;
const flagProviders = new Set(["kubernetes", "file", "flagd-proxy"]);
/** What the operator takes where neither the source nor the FeatureFlagSource names one. */
const usualProvider = "kubernetes";
const portFields = ["port", "managementPort", "ofrepPort"] as const;
/** As our definition of the type has it, which takes what flagd can read. */
const pingInterval = /^(0|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)?$/;

/**
 * Findings about the spec of a FeatureFlagSource as its author wrote it: what our definition refuses when the object is stored, and fields that
 * are dropped then. Paths begin at the spec.
 */
export function checkSourceSpec(written: JsonObject): readonly Finding[] {
  const spec = definedFields(written);
  const { sources, socketPath, defaultSyncProvider } = spec;
  const entries = Array.isArray(sources) ? sources : [];
  return [
    ...unknownFields(written, resourceFields.featureFlagSource, []),
    ...(entries.length === 0
      ? [error("source", "it names no sources: write at least one in its field sources", ["sources"])]
      : []),
    ...entries.flatMap((entry, index) => checkEntry(entry, defaultSyncProvider, ["sources", String(index)])),
    ...(isText(defaultSyncProvider) ? checkProvider(defaultSyncProvider, ["defaultSyncProvider"]) : []),
    ...portFields.flatMap((field) => checkPort(spec[field], [field])),
    ...checkSharedPorts(spec),
    ...(isText(socketPath) && !socketPath.startsWith("/")
      ? [error("source", "the path of a socket begins with a slash", ["socketPath"])]
      : []),
    ...checkKeepAlive(spec["keepAliveMinTime"]),
    ...checkText(spec, "otelCollectorUri", collectorProblem),
    ...checkText(spec, "envVarPrefix", prefixProblem),
    ...checkKeys(spec, "contextValues", contextKeyProblem),
    ...checkKeys(spec, "headerToContextMappings", headerProblem),
    ...checkSourceValues(spec),
  ];
}

/** Findings about the spec of an InProcessConfiguration. */
export function checkInProcessSpec(written: JsonObject): readonly Finding[] {
  const spec = definedFields(written);
  return [
    ...unknownFields(written, resourceFields.inProcessConfiguration, []),
    ...checkPort(spec["port"], ["port"]),
    ...(["lru", "disabled", undefined].some((cache) => cache === spec["cache"])
      ? []
      : [error("source", `there is no cache ${shown(spec["cache"])}: write lru or disabled`, ["cache"])]),
  ];
}

/** A FeatureFlag that a source reads, and the path of the source in the spec. */
export interface SourcedFlag {
  readonly namespace: string;
  readonly name: string;
  readonly provider: string;
  readonly path: Path;
}

/** The FeatureFlags that the spec of a FeatureFlagSource names, for Pods of this namespace. What can't be a name is left out. */
export function flagsOfSource(spec: JsonObject, namespace: string): readonly SourcedFlag[] {
  const { sources, defaultSyncProvider } = spec;
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((entry: unknown, index) => {
    if (!isObject(entry) || !isText(entry["source"])) return [];
    const provider = providerOf(entry, defaultSyncProvider);
    if (!flagProviders.has(provider)) return [];
    const { source } = entry;
    const slash = source.indexOf("/");
    const at = slash < 0 ? namespace : source.slice(0, slash);
    const name = source.slice(slash + 1);
    if (!isNamespaceName(at) || !isObjectName(name)) return [];
    return [{ namespace: at, name, provider, path: ["sources", String(index), "source"] }];
  });
}

function checkEntry(entry: unknown, defaultProvider: unknown, path: Path): readonly Finding[] {
  if (!isObject(entry)) return [error("source", "a source is an object with the field source", path)];
  const { source, provider, interval } = definedFields(entry);
  const findings: Finding[] = [...unknownFields(entry, resourceFields.sourceEntry, path)];
  if (!isText(source))
    findings.push(error("source", "a source has a name or an address, as a text", [...path, "source"]));
  else if (flagProviders.has(providerOf(entry, defaultProvider)) && !isFlagName(source)) {
    const message = `${quoted(source)} can't be the name of a FeatureFlag: write a name, or namespace/name`;
    findings.push(error("source", message, [...path, "source"]));
  }
  if (provider !== undefined && typeof provider !== "string")
    findings.push(error("provider", "a provider is a text", [...path, "provider"]));
  else if (isText(provider)) findings.push(...checkProvider(provider, [...path, "provider"]));
  if (interval !== undefined && !(Number.isInteger(interval) && Number(interval) >= 0))
    findings.push(error("source", "an interval is a number of seconds, 0 or more", [...path, "interval"]));
  if (isText(source)) findings.push(...checkAddress(source, entry, defaultProvider, path));
  const problem = (entry["credentialsSecretRef"] ?? null) === null ? undefined : credentialsProblem(entry);
  if (problem !== undefined) findings.push(error("source", problem, [...path, "credentialsSecretRef"]));
  return findings;
}

function credentialsProblem({
  provider,
  credentialsSecretRef: reference,
  httpSyncBearerToken: token,
}: JsonObject): string | undefined {
  if (!isObject(reference) || !isText(reference["name"]))
    return 'it is an object with the "name" of a Secret';
  const { name, key } = reference;
  if (!isObjectName(name)) return `${quoted(name)} can't be the name of a Secret`;
  if (isText(key) && !isTokenKey(key))
    return `${quoted(key)} can't be the key of a token in a Secret, where hosts has the servers`;
  if (isText(provider) && provider !== "http" && provider !== "grpc")
    return "only the providers http and grpc send credentials";
  return isText(token) ? "a source has one token: leave out httpSyncBearerToken" : undefined;
}

/** What the operator leaves out, and its webhook refuses, because a sidecar would not start with it. */
function checkAddress(
  source: string,
  entry: JsonObject,
  defaultProvider: unknown,
  path: Path,
): readonly Finding[] {
  const provider = addressProviders.find((each) => each === providerOf(entry, defaultProvider));
  if (provider === undefined) return [];
  const { interval, httpSyncBearerToken: token, selector } = entry;
  const problem = sourceProblem(provider, {
    source,
    // A negative one is found already.
    interval: typeof interval === "number" ? Math.max(interval, 0) : 0,
    httpSyncBearerToken: isText(token) ? token : "",
    selector: isText(selector) ? selector : "",
  });
  return problem === undefined ? [] : [error("source", `the sidecar would not start: ${problem}`, path)];
}

type ProblemOf = (text: string) => string | undefined;

function checkText(spec: JsonObject, field: string, problemOf: ProblemOf): readonly Finding[] {
  const value = spec[field];
  const problem = isText(value) ? problemOf(value) : undefined;
  return problem === undefined ? [] : [error("source", `${shown(value)}: ${problem}`, [field])];
}

function checkKeys(spec: JsonObject, field: string, problemOf: ProblemOf): readonly Finding[] {
  const values = spec[field];
  return Object.keys(isObject(values) ? values : {}).flatMap((key) => {
    const problem = problemOf(key);
    return problem === undefined ? [] : [error("source", problem, [field, key])];
  });
}

function isTokenKey(key: string): boolean {
  return /^(?!\.$|\.\.|hosts$)[-._a-zA-Z0-9]{1,253}$/.test(key);
}

function checkKeepAlive(interval: unknown): readonly Finding[] {
  if (interval === undefined || (typeof interval === "string" && pingInterval.test(interval))) return [];
  const message = `${shown(interval)} is no interval of pings: write a duration, as "30s"`;
  return [error("source", message, ["keepAliveMinTime"])];
}

function checkProvider(provider: string, path: Path): readonly Finding[] {
  if (providers.includes(provider)) return [];
  const meant = nearestWord(provider, providers);
  const hint = meant === undefined ? `write ${providers.join(", ")}` : `did you mean ${quoted(meant)}?`;
  return [error("provider", `there is no provider ${quoted(provider)}: ${hint}`, path)];
}

function checkPort(port: unknown, path: Path): readonly Finding[] {
  if (port === undefined || (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
    return [];
  const message = `${shown(port)} is no port: write a number from 1 to 65535, without quotes; 0 leaves it to the operator`;
  return [error("port", message, path)];
}

/** Two services of the sidecar on one port: it would not start. With a socket, `port` is not opened. */
function checkSharedPorts(spec: JsonObject): readonly Finding[] {
  const used = portFields.filter((field) => field !== "port" || !isText(spec["socketPath"]));
  const first = new Map<unknown, string>();
  return used.flatMap((field) => {
    const port = spec[field] ?? featureFlagSourceDefaults[field];
    if (typeof port !== "number" || port === 0) return [];
    const other = first.get(port);
    if (other === undefined) {
      first.set(port, field);
      return [];
    }
    // What has its default is written nowhere.
    const [at, too] = spec[field] === undefined ? [other, field] : [field, other];
    return [error("port", `${too} is ${port}, too: the sidecar would not start`, [at])];
  });
}

function unknownFields(object: JsonObject, known: readonly string[], path: Path): readonly Finding[] {
  return Object.keys(object)
    .filter((field) => !known.includes(field))
    .map((field) => {
      const message = `there is no field ${quoted(field)}, and the API server drops it${didYouMean(field, known)}`;
      return error("unknown-field", message, [...path, field]);
    });
}

function providerOf({ provider }: JsonObject, defaultProvider: unknown): string {
  if (isText(provider)) return provider;
  return isText(defaultProvider) ? defaultProvider : usualProvider;
}

function isFlagName(source: string): boolean {
  const [first = "", ...rest] = source.split("/");
  return rest.length === 0 ? isObjectName(first) : isNamespaceName(first) && isObjectName(rest.join("/"));
}

function shown(value: unknown): string {
  return typeof value === "string" ? quoted(value) : JSON.stringify(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is JsonObject {
  return isJsonObject(value as JsonObject);
}

function error(kind: Finding["kind"], message: string, path: Path): Finding {
  return { severity: "error", kind, message, path };
}
