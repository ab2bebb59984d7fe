import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { addressesIn, type NamedAddress } from "../object-address.js";
import { optionOf, type ShownContainer } from "../shown-pod.js";

/** Such as `flagd-proxy-svc.bunting-system.svc.cluster.local:8015`. */
const serviceAddress = /^(?:\w+:\/*)?[^./]+\.([^.]+)\.svc\b/;
/** The operator writes it; people may leave it out. */
const topicPrefix = /^core\.openfeature\.dev\//;

/** The FeatureFlags that a sidecar is told to read by --sources, each once. Sources elsewhere, such as http, are none. */
export function sidecarFlags(sidecar: ShownContainer): readonly NamedAddress[] {
  return flagsOf(sidecar, flagOf);
}

/** FeatureFlags that the sidecar reads through a proxy; with `namespace` without those of proxies that are in another one by their address. */
export function proxiedFlags(sidecar: ShownContainer, namespace?: string): readonly NamedAddress[] {
  return flagsOf(sidecar, (source) => {
    const { uri } = source;
    const [, named = namespace] = (typeof uri === "string" ? serviceAddress.exec(uri) : null) ?? [];
    return namespace === undefined || named === namespace ? proxiedFlag(source) : [];
  });
}

function flagsOf(
  sidecar: ShownContainer,
  ofSource: (source: JsonObject) => readonly NamedAddress[],
): readonly NamedAddress[] {
  const found = new Map<string, NamedAddress>();
  for (const source of sourcesIn(optionOf(sidecar, "--sources") ?? "[]")) {
    for (const address of ofSource(source)) found.set(`${address.namespace}/${address.name}`, address);
  }
  return [...found.values()];
}

function sourcesIn(text: string): readonly JsonObject[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
  } catch {
    // The sidecar itself says what is wrong with it.
    return [];
  }
}

function proxiedFlag({ selector }: JsonObject): readonly NamedAddress[] {
  return typeof selector === "string" ? addressesIn(selector.replace(topicPrefix, ""), "") : [];
}

function flagOf(source: JsonObject): readonly NamedAddress[] {
  const proxied = proxiedFlag(source);
  if (proxied.length > 0) return proxied;
  const { provider, uri } = source;
  if (typeof uri !== "string") return [];
  if (provider === "kubernetes") return addressesIn(uri, "");
  const [, namespace = "", name = ""] = /^\/etc\/flagd\/([^/_]+)_([^/]+)\//.exec(uri) ?? [];
  return provider === "file" ? addressesIn(`${namespace}/${name}`, "") : [];
}
