import { posix } from "node:path";
import {
  flagdOnly,
  sourceProblem,
  type SourceEntry,
  type SourceProvider,
} from "@bunting/featureflags/resources";
import { quoted } from "@bunting/protocol";
import type { CrossNamespace } from "./consent.js";
import { credentialsSecret, type CredentialsSecret } from "./credentials-secret.js";
import { addressKey, parseObjectName, type ObjectAddress } from "./object-names.js";
import type { SourceProblem } from "./source-problem.js";

/** An element of the sidecar's `--sources`, with the fields that flagd knows, in the open-feature-operator's order. */
export interface SourceElement {
  readonly uri: string;
  readonly provider: string;
  readonly bearerToken?: string;
  /** These two are not flagd's, which goes without a token. */
  readonly tokenFile?: string;
  readonly tokenHostsFile?: string;
  readonly certPath?: string;
  readonly tls?: boolean;
  readonly providerID?: string;
  readonly selector?: string;
  /** In seconds. */
  readonly interval?: number;
}

/** A source as the sidecar reads it, and what has to be there for it. */
export interface ResolvedSource {
  readonly element: SourceElement;
  /** By what way the sidecar gets the flags. */
  readonly way: "proxy" | "direct" | "file" | "remote";
  /** The FeatureFlag, unless the way is remote. */
  readonly flag?: ObjectAddress;
  readonly provider: SourceProvider;
  /** What has the token of the source. */
  readonly secret?: CredentialsSecret;
}

export interface ProviderRules {
  /** Where the Pods are. */
  readonly namespace: string;
  /** `host:port` of the proxy. */
  readonly proxyAddress: string;
  /** Whether sources of the provider kubernetes are served by the proxy, or by a watch of the sidecar itself, where it may. */
  readonly providerKubernetes: "proxy" | "direct";
  readonly crossNamespace: CrossNamespace;
  /** Whether flagd's own image reads the sources. It takes what ours does not, and would not start with nothing else. */
  readonly isFlagd?: boolean;
  /** The namespaces that the operator serves; absent: all. */
  readonly served?: readonly string[];
}

/** The address of the proxy as the open-feature-operator gives it to sidecars. */
export function proxyAddress(proxy: {
  readonly namespace: string;
  readonly clusterDomain: string;
  readonly port: number;
}): string {
  return `flagd-proxy-svc.${proxy.namespace}.svc.${proxy.clusterDomain}:${proxy.port}`;
}

/** What a sidecar is told about a source. An entry without a provider has the default one, and without that, kubernetes. */
export function resolveSource(
  entry: SourceEntry,
  defaultProvider: string | undefined,
  rules: ProviderRules,
): ResolvedSource | SourceProblem {
  const provider = given(entry.provider) ?? given(defaultProvider) ?? "kubernetes";
  const only = rules.isFlagd === true ? undefined : flagdOnly(provider, entry.source);
  if (only === "xds")
    return onlyOfFlagd(entry, "reads targets of xds; write HOST:PORT, or envoy://HOST:PORT/SERVICE");
  if (only === "bucket")
    return onlyOfFlagd(
      entry,
      `has the provider ${provider}; fetch the object over https, with the provider http`,
    );
  switch (provider) {
    case "kubernetes":
    case "file":
    case "flagd-proxy":
      return ofFeatureFlag(entry.source, provider, rules);
    case "http":
      return withCredentials(entry, provider, {
        bearerToken: entry.httpSyncBearerToken,
        interval: entry.interval,
      });
    case "grpc": {
      const { certPath, tls, providerID, selector } = entry;
      return withCredentials(entry, provider, { certPath, tls, providerID, selector });
    }
    case "gcs":
    case "azblob":
    case "s3":
      return remote(entry, provider, { interval: entry.interval });
    default: {
      const message = `the source ${quoted(entry.source)} has the provider ${quoted(provider)}; write kubernetes, file, http, grpc, gcs, azblob, s3 or flagd-proxy`;
      return { reason: "UnknownProvider", message };
    }
  }
}

function onlyOfFlagd({ source }: SourceEntry, what: string): SourceProblem {
  return {
    reason: "UnknownProvider",
    message: `the source ${quoted(source)} is left out: only flagd ${what}`,
  };
}

function ofFeatureFlag(
  source: string,
  provider: "kubernetes" | "file" | "flagd-proxy",
  { namespace, proxyAddress: address, providerKubernetes, crossNamespace }: ProviderRules,
): ResolvedSource | SourceProblem {
  const flag = parseObjectName(source, namespace);
  if (flag === undefined) {
    const message = `the source ${quoted(source)} of the provider ${provider} can't be the name of a FeatureFlag; write a name, or namespace/name`;
    return { reason: "InvalidName", message };
  }
  const key = addressKey(flag);
  if (provider === "file" && posix.basename(flagFilePath(flag)).length > maxFileName)
    return {
      reason: "InvalidName",
      message: `the source ${quoted(source)} of the provider file has a longer name than a file can have; use the provider flagd-proxy`,
    };
  if (provider === "file")
    return { element: { uri: flagFilePath(flag), provider: "file" }, way: "file", flag, provider };
  // Who may watch one FeatureFlag of a namespace may watch all of them, which is more than the owner of one consents to: the proxy serves it.
  const mayWatch = flag.namespace === namespace || crossNamespace === "legacy";
  if (provider === "kubernetes" && providerKubernetes === "direct" && mayWatch)
    return { element: { uri: key, provider }, way: "direct", flag, provider };
  const element = { uri: address, provider: "grpc", selector: `core.openfeature.dev/${key}` };
  return { element, way: "proxy", flag, provider };
}

/** The longest key of a ConfigMap. */
const maxFileName = 253;

/** Where a FeatureFlag is in a sidecar that reads it as a file. */
export function flagFilePath({ namespace, name }: ObjectAddress): string {
  const base = `${namespace}_${name}`;
  return `/etc/flagd/${base}/${base}.flagd.json`;
}

/** With the files of the Secret, if the source has one. */
function withCredentials(
  entry: SourceEntry,
  provider: "http" | "grpc",
  fields: { readonly [Field in keyof SourceElement]?: SourceElement[Field] | undefined },
): ResolvedSource | SourceProblem {
  if (entry.credentialsSecretRef === undefined) return remote(entry, provider, fields);
  const secret = credentialsSecret(entry);
  if ("reason" in secret) return secret;
  const { tokenFile, hostsFile: tokenHostsFile } = secret;
  const source = remote(entry, provider, { ...fields, tokenFile, tokenHostsFile });
  return "reason" in source ? source : { ...source, secret };
}

function remote(
  entry: SourceEntry,
  provider: "http" | "grpc" | "gcs" | "azblob" | "s3",
  fields: { readonly [Field in keyof SourceElement]?: SourceElement[Field] | undefined },
): ResolvedSource | SourceProblem {
  const { source } = entry;
  if (source === "")
    return {
      reason: "InvalidName",
      message: `a source of the provider ${provider} has no address; write one in its field source`,
    };
  // Empty, false and 0 are absent, as in Go.
  const present = Object.entries(fields).filter(([, value]) => Boolean(value));
  const element = { uri: source, provider, ...(Object.fromEntries(present) as Partial<SourceElement>) };
  const problem = sourceProblem(provider, entry);
  if (problem === undefined) return { element, way: "remote", provider };
  return { reason: "InvalidSetting", message: `the source ${quoted(source)} is left out: ${problem}` };
}

function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
