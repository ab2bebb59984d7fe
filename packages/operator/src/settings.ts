import type {
  FeatureFlagSourceSpec,
  InProcessConfigurationSpec,
  ResourceRequirements,
} from "@bunting/featureflags/resources";
import { quoted } from "@bunting/runtime";
import type { SourceReader } from "./admission/check-feature-flag-source.js";
import type { FlagdSettings } from "./desired/flagd/flagd-settings.js";
import { imageReference, isImageReference } from "./desired/image-reference.js";
import { proxySecurityOptions } from "./desired/proxy-security/proxy-tls.js";
import { redisOptions, type RedisSecret } from "./desired/proxy/proxy-redis.js";
import type { ProxySettings } from "./desired/proxy/proxy-settings.js";
import type { SidecarSettings } from "./desired/sidecar-settings.js";
import { OperatorError } from "./operator-error.js";
import type { OperatorOptions } from "./options.js";
import type { InProcessRules } from "./sources/in-process-plan.js";
import { proxyAddress } from "./sources/source-element.js";
import type { SourceRules } from "./sources/source-plan.js";

/** What the operator's options decide about sources, wherever the Pods are. */
export type SourceSettings = Omit<SourceRules & InProcessRules, "namespace">;

/**
 * The proxy, as the options have it.
 *
 * @param version the tag of images that name none
 * @throws OperatorError OPTION_INVALID if two options say what the proxy knows of Redis.
 */
export function proxySettings(options: OperatorOptions, version: string): ProxySettings {
  return {
    namespace: options.namespace,
    image: imageOf("proxy", options.proxyImage, options.proxyTag, version),
    replicas: options.proxyReplicaCount,
    ports: { sync: options.proxyPort, management: options.proxyManagementPort },
    debugLogging: options.proxyDebugLogging,
    options: usableOptions(options),
    pod: {
      serviceAccountName: options.proxyServiceAccount,
      labels: options.labels,
      annotations: options.annotations,
      imagePullSecrets: options.imagePullSecrets,
    },
    tellsAgents: options.statusAgents,
    hasNetworkPolicy: options.proxyNetworkPolicy,
    ...(options.hostNetworkPods === "inject" ? { hasNodeClients: true } : {}),
    authorizesAll: options.crossNamespace === "legacy",
    ...redisOf(options),
  };
}

/** The further options of the proxy. Its security is either theirs, or the operator's. */
function usableOptions(options: OperatorOptions): ProxySettings["options"] {
  const { proxyOption, proxySecurity, proxy } = options;
  checkPorts(options);
  // No Pod of it would ever be ready.
  if (proxyOption["management-tls"] === "on")
    throw new OperatorError(
      "OPTION_INVALID",
      "--proxy-option management-tls=on would keep out probes and the operator, which ask the proxy in plaintext: write management-tls=both",
    );
  if (proxySecurity === "off") return proxyOption;
  if (proxy === "never")
    throw new OperatorError(
      "OPTION_INVALID",
      `--proxy-security=${proxySecurity} is about the proxy that the operator deploys, and --proxy=never deploys none: secure the other one by its own options`,
    );
  const twice = proxySecurityOptions.find((each) => Object.hasOwn(proxyOption, each));
  if (twice !== undefined)
    throw new OperatorError(
      "OPTION_INVALID",
      `--proxy-option ${twice}=… would replace what --proxy-security=${proxySecurity} says: leave one of them out`,
    );
  return proxyOption;
}

/** Ports have options of the operator, because its Service and its probes have to agree; the same number twice does no harm. */
function checkPorts({ proxyOption, proxyPort, proxyManagementPort }: OperatorOptions): void {
  for (const [name, port] of Object.entries({ port: proxyPort, "management-port": proxyManagementPort })) {
    if ((proxyOption[name] ?? String(port)) === String(port)) continue;
    throw new OperatorError(
      "OPTION_INVALID",
      `--proxy-option ${name}=${proxyOption[name]} would have the proxy listen where its Service does not lead: write --proxy-${name}`,
    );
  }
}

function redisOf(options: OperatorOptions): { readonly redis?: RedisSecret } {
  const { redisSecret: name, redisSecretFiles: files, proxyOption } = options;
  if (name === "") return {};
  const redis: RedisSecret = { name, files };
  const twice = redisOptions(redis).find((each) => Object.hasOwn(proxyOption, each));
  if (twice !== undefined)
    throw new OperatorError(
      "OPTION_INVALID",
      `--proxy-option ${twice}=… would replace what --redis-secret ${name} says: leave one of them out`,
    );
  return { redis };
}

/** The sidecars, as the options have them. */
export function sidecarSettings(options: OperatorOptions, version: string): SidecarSettings {
  return {
    image: imageOf("sidecar", options.sidecarImage, options.sidecarTag, version),
    resources: resourcesOf(options),
    imagePullSecrets: options.imagePullSecrets,
    applicationEnv: options.applicationEnv,
    hostNetworkPods: options.hostNetworkPods,
    proxyAccess: "plain",
  };
}

/** The agents that stand by themselves, as the options have them. */
export function flagdSettings(options: OperatorOptions, version: string): FlagdSettings {
  return {
    image: imageOf("flagd", options.flagdImage, options.flagdTag, version),
    ...(isFlagd(options.flagdImage) ? { isFlagd: true } : {}),
    ports: {
      evaluation: options.flagdPort,
      ofrep: options.flagdOfrepPort,
      sync: options.flagdSyncPort,
      management: options.flagdManagementPort,
    },
    resources: resourcesOf(options),
    pod: {
      labels: options.labels,
      annotations: options.annotations,
      imagePullSecrets: options.imagePullSecrets,
    },
  };
}

/** What is decided about sources, and what FeatureFlagSources and InProcessConfigurations are merged into. */
export function sourceSettings(options: OperatorOptions): SourceSettings {
  const { namespace, clusterDomain, proxyPort: port } = options;
  const { crossNamespace, watchNamespaces, providerKubernetes } = options;
  return {
    crossNamespace,
    ...(watchNamespaces.length === 0 ? {} : { served: watchNamespaces }),
    providerKubernetes,
    ...(isFlagd(options.sidecarImage) ? { isFlagd: true } : {}),
    proxyAddress: proxyAddress({ namespace, clusterDomain, port }),
    defaults: sourceDefaults(options),
    inProcessDefaults: inProcessDefaults(options),
  };
}

/** For whom it is to refuse FeatureFlagSources: of sidecars and Flagds, flagd takes more. */
export function sourceReader({ sidecarImage, flagdImage }: OperatorOptions): SourceReader {
  return { isFlagd: isFlagd(sidecarImage) || isFlagd(flagdImage) };
}

/** Mirrors of an image have other registries, and maybe more in its name. A tag says nothing. */
function isFlagd(image: string): boolean {
  return /(?:^|\/)[^/:@]*flagd[^/]*$/.test(image);
}

function sourceDefaults(options: OperatorOptions): Omit<FeatureFlagSourceSpec, "sources"> {
  return {
    port: options.sidecarPort,
    managementPort: options.sidecarManagementPort,
    ...some("socketPath", options.sidecarSocketPath),
    evaluator: options.sidecarEvaluator,
    ...(options.sidecarProviderArgs.length === 0 ? {} : { syncProviderArgs: options.sidecarProviderArgs }),
    defaultSyncProvider: options.sidecarSyncProvider,
    logFormat: options.sidecarLogFormat,
    envVarPrefix: options.sidecarEnvVarPrefix,
    probesEnabled: options.sidecarProbesEnabled,
  };
}

function inProcessDefaults(options: OperatorOptions): InProcessConfigurationSpec {
  return {
    host: options.inProcessHost,
    port: options.inProcessPort,
    ...some("socketPath", options.inProcessSocketPath),
    tls: options.inProcessTls,
    ...some("offlineFlagSourcePath", options.inProcessOfflineFlagSourcePath),
    ...some("selector", options.inProcessSelector),
    cache: options.inProcessCache,
    cacheMaxSize: options.inProcessCacheMaxSize,
    envVarPrefix: options.inProcessEnvVarPrefix,
  };
}

function resourcesOf(options: OperatorOptions): ResourceRequirements {
  const requests = {
    ...some("cpu", options.sidecarCpuRequest),
    ...some("memory", options.sidecarRamRequest),
  };
  const limits = { ...some("cpu", options.sidecarCpuLimit), ...some("memory", options.sidecarRamLimit) };
  return { requests, limits };
}

/**
 * An image that names a digest needs no tag.
 *
 * @throws OperatorError OPTION_INVALID if it is no image. Pods with it would not start, and with some texts, such as one that ends with a space, be refused.
 */
function imageOf(part: "proxy" | "sidecar" | "flagd", image: string, tag: string, version: string): string {
  const reference = imageReference(image, tag === "" && !image.includes("@") ? version : tag);
  if (isImageReference(reference)) return reference;
  throw new OperatorError(
    "OPTION_INVALID",
    `--${part}-image and --${part}-tag make ${quoted(reference)}, which is no image: expected one such as registry.example/agent, and a tag such as 1.2 or a digest`,
  );
}

/** The field, unless the text is empty, which is the same as absent. */
function some<Name extends string>(name: Name, text: string): Partial<Record<Name, string>> {
  return text === "" ? {} : ({ [name]: text } as Partial<Record<Name, string>>);
}
