import type { KubeObject } from "@bunting/kube";
import { agentLabel, buntingAnnotations, sidecarName } from "../../api/names.js";
import type { PodManifest } from "../../api/pod-manifest.js";
import { isImageOfContainer, isImageReference } from "../../desired/image-reference.js";
import { wantsFlags } from "../../pod/injection-request.js";
import { parseRecord } from "../../upgrade/agent-record.js";
import type { FleetAgent, FleetPod, FleetPull, Labels } from "../../upgrade/fleet.js";
import { fleetPull } from "./fleet-pull.js";
import { hasReadyCondition, type PodConditions } from "../pods/pod-conditions.js";
import { workloadOfPod } from "../pods/workload-of-pod.js";

/** A Pod as it is kept in memory. */
export interface StoredPod extends KubeObject {
  readonly fleet: FleetPod;
  /** Of a Pod by which a node pulls an image. */
  readonly pull?: FleetPull;
}

interface LivePod extends PodManifest {
  readonly status?: {
    readonly phase?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: PodConditions;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly imageID?: string;
  readonly ready?: boolean;
  readonly started?: boolean | null;
  readonly restartCount?: number;
  readonly state?: { readonly waiting?: { readonly reason?: string } };
}

/** All labels of a Pod together. Whoever may create Pods could fill the operator's memory with them. */
const maxLabelsLength = 16_384;

/** The part of a Pod that upgrades are decided by. Of the many without a sidecar, little more is kept than whether they are ready. */
export function storedPod(object: KubeObject): StoredPod {
  const pod = object as KubeObject & LivePod;
  const { metadata, spec, status = {} } = pod;
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  const agent = agentOf(pod);
  const pull = fleetPull(object);
  const created: unknown = metadata["creationTimestamp"];
  const { nodeName } = spec as { readonly nodeName?: string };
  const labels: Labels = agent === undefined ? {} : (metadata.labels ?? {});
  return {
    metadata: { name, namespace, uid, resourceVersion },
    ...(pull === undefined ? {} : { pull }),
    fleet: {
      ...{ key: `${namespace}/${name}`, namespace, uid, resourceVersion, labels },
      workload: workloadOfPod(object)?.key ?? `${namespace}/Pod/${name}`,
      node: nodeName ?? "",
      addresses: agent === undefined ? [] : (status.podIPs ?? []).map(({ ip }) => ip),
      createdMs: typeof created === "string" ? Date.parse(created) : 0,
      phase: status.phase ?? "",
      isEnding: metadata["deletionTimestamp"] !== undefined,
      isReady: hasReadyCondition(status.conditions),
      ...(agent === undefined ? {} : { agent }),
    },
  };
}

/** The sidecar that we, or the open-feature-operator, have injected; undefined for one that somebody has written there. */
function agentOf({ metadata, spec, status = {} }: KubeObject & LivePod): FleetAgent | undefined {
  const { labels = {}, annotations = {} } = metadata;
  if (JSON.stringify(labels).length > maxLabelsLength) return undefined;
  const isOurs = labels[agentLabel] !== undefined;
  const isStocks = wantsFlags(metadata) && annotations[buntingAnnotations.notInjected] === undefined;
  if (!isOurs && !isStocks) return undefined;
  for (const list of ["initContainers", "containers"] as const) {
    const index = (spec[list] ?? []).findIndex((each) => each.name === sidecarName);
    const image = spec[list]?.[index]?.image ?? "";
    // No Pod runs with another text, and each would be kept.
    if (!isImageOfContainer(image)) continue;
    const statuses = list === "containers" ? status.containerStatuses : status.initContainerStatuses;
    return {
      ...{ list, index, image },
      ...running(statuses?.find((each) => each.name === sidecarName)),
      ...written(annotations),
    };
  }
  return undefined;
}

function running(
  status: ContainerStatus | undefined,
): Pick<FleetAgent, "imageID" | "isStarted" | "isReady" | "restarts" | "trouble"> {
  const { imageID = "", started, ready = false, restartCount = 0, state = {} } = status ?? {};
  const trouble = state.waiting?.reason;
  const told = trouble === undefined ? {} : { trouble };
  return { imageID, isStarted: started === true, isReady: ready, restarts: restartCount, ...told };
}

function written(annotations: Readonly<Record<string, string>>): Pick<FleetAgent, "record" | "previous"> {
  const record = parseRecord(annotations[buntingAnnotations.agentRollout]);
  const previous = annotations[buntingAnnotations.agentPrevious];
  const isKept = previous !== undefined && isImageReference(previous);
  return { ...(record === undefined ? {} : { record }), ...(isKept ? { previous } : {}) };
}
