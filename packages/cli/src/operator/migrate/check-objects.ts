import { checkFeatureFlag } from "@bunting/featureflags/checks";
import type { KubeObject } from "@bunting/kube";
import { parseReaders, readersAnnotation, type JsonObject } from "@bunting/protocol";
import { addressesIn, namedAddressText } from "../object-address.js";
import { podAnnotations } from "../operator-names.js";
import {
  collectorProblem,
  flagdOnly,
  podRequest,
  requestParts,
  type FeatureFlagSourceSpec,
} from "@bunting/featureflags/resources";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";

const options = { maxDocumentBytes: 1.5 * 1024 * 1024 };

/** Findings about what users have in the cluster: objects, and the Pods that use them. */
export function checkObjects(facts: MigrationFacts): readonly MigrationFinding[] {
  return [
    ...facts.flags.flatMap(checkFlag),
    ...checkVariables("FeatureFlagSource", facts.sources),
    ...facts.sources.flatMap(checkFlagdOnly),
    ...checkSharing(facts),
    ...checkWatchers(facts.pods),
    ...checkNodePods(facts.nodePods),
  ];
}

/** An object that is stored stays, and stays editable; what is refused is a new one like it. */
function checkFlag(flag: KubeObject): readonly MigrationFinding[] {
  const object = `FeatureFlag ${textOf(flag)}`;
  return checkFeatureFlag(flag as unknown as JsonObject, options).map(({ severity, message, path }) => {
    const place = path.length === 0 ? "" : `${path.join(".")}: `;
    const what =
      severity === "error" ? "the webhook would refuse it as a new object" : "the webhook warns of it";
    return { severity: "warns", object, message: `${place}${message} (${what})` };
  });
}

function checkVariables(kind: string, sources: readonly KubeObject[]): readonly MigrationFinding[] {
  return sources.flatMap((source) => {
    const { envVars = [] } = (source["spec"] ?? {}) as {
      readonly envVars?: readonly { readonly name: string }[];
    };
    if (envVars.length === 0) return [];
    const names = envVars.map(({ name }) => name).join(", ");
    const message = `applications get its envVars (${names}) too, and may read them: application-env: stock keeps that; with connection only the sidecar has them`;
    return [{ severity: "warns", object: `${kind} ${textOf(source)}`, message }];
  });
}

/** What flagd takes of a source, and our sidecar does not: the operator leaves it out. */
function checkFlagdOnly(source: KubeObject): readonly MigrationFinding[] {
  const {
    sources = [],
    defaultSyncProvider = "",
    otelCollectorUri: collector = "",
  } = (source["spec"] ?? {}) as Partial<FeatureFlagSourceSpec>;
  const object = `FeatureFlagSource ${textOf(source)}`;
  const ofSources = sources.flatMap(({ source: address, provider: own = "" }): MigrationFinding[] => {
    const provider = own === "" ? defaultSyncProvider : own;
    const only = flagdOnly(provider, address);
    if (only === undefined) return [];
    const instead = only === "xds" ? "write HOST:PORT" : "fetch the object over https with the provider http";
    const message = `only flagd reads ${address}, a source of the provider ${provider}: new Pods get no flags of it; ${instead}, or ${keepFlagd}`;
    return [{ severity: "warns", object, message }];
  });
  if (collectorProblem(collector) === undefined) return ofSources;
  const message = `only flagd sends telemetry to ${collector}, its otelCollectorUri: new Pods send none; write HOST:PORT, or https://HOST:PORT, or ${keepFlagd}`;
  return [...ofSources, { severity: "warns", object, message }];
}

const keepFlagd = "keep flagd as their sidecar with sidecar-image";

/** Uses over namespaces that their owner has not agreed to; each once. */
function checkSharing({ sources, inProcess, pods }: MigrationFacts): readonly MigrationFinding[] {
  const kinds = {
    sources: new Map(sources.map((each) => [textOf(each), each])),
    inProcess: new Map(inProcess.map((each) => [textOf(each), each])),
  };
  const found = new Map<string, MigrationFinding>();
  for (const { metadata } of pods) {
    const { namespace = "", annotations = {} } = metadata;
    const asked = annotations[podAnnotations.enabled] === "true" ? podRequest(annotations) : undefined;
    if (asked === undefined) continue;
    const kind = asked.list === "sources" ? "FeatureFlagSource" : "InProcessConfiguration";
    const text = asked.list === "sources" ? requestParts(asked.text)?.sources : asked.text;
    for (const address of addressesIn(text ?? "", namespace)) {
      const target = kinds[asked.list].get(namedAddressText(address));
      if (address.namespace === namespace || target === undefined) continue;
      const { readers } = parseReaders(target.metadata.annotations?.[readersAnnotation]);
      if (readers?.has(namespace) === true) continue;
      const object = `${kind} ${namedAddressText(address)}`;
      const message = `Pods in ${namespace} use it, and it is not shared with them: cross-namespace: legacy keeps that; annotate it with ${readersAnnotation}: ${namespace} before you go on to consent`;
      found.set(`${object} ${namespace}`, { severity: "warns", object, message });
    }
  }
  return [...found.values()];
}

function checkWatchers(pods: readonly KubeObject[]): readonly MigrationFinding[] {
  const watching = pods.filter(
    ({ metadata }) => metadata.annotations?.[podAnnotations.allowKubernetesSync] === "true",
  );
  if (watching.length === 0) return [];
  const message = `${watching.length} watch FeatureFlags themselves (${namesOf(watching)}): keepStockBinding and provider-kubernetes: direct keep their rights; restart them before you remove either`;
  return [{ severity: "warns", object: "Pods", message }];
}

function checkNodePods(pods: readonly KubeObject[]): readonly MigrationFinding[] {
  const asking = pods.filter(({ metadata: { annotations = {} } }) => {
    const isEnabled = annotations[podAnnotations.enabled] === "true";
    return isEnabled && podRequest(annotations)?.list === "sources";
  });
  if (asking.length === 0) return [];
  const message = `${asking.length} ask for a sidecar, and use the network of their node (${namesOf(asking)}): host-network-pods: inject goes on giving them one; without that, new ones get none`;
  return [{ severity: "warns", object: "Pods", message }];
}

/** Three of them. */
function namesOf(pods: readonly KubeObject[]): string {
  return `${pods.slice(0, 3).map(textOf).join(", ")}${pods.length > 3 ? ", …" : ""}`;
}

function textOf({ metadata }: KubeObject): string {
  return namedAddressText({ namespace: metadata.namespace ?? "", name: metadata.name });
}
