import { formatLabelSelector, type KubeObject, type ResourceScope } from "@bunting/kube";
import { podType } from "../../api/core-types.js";
import { hasEnded } from "@bunting/featureflags/resources";
import { podSelector } from "../../desired/proxy/proxy-settings.js";
import { namedObject } from "../named-object.js";
import { hasReadyCondition, type PodConditions } from "../pods/pod-conditions.js";

/** A Pod of the proxy, as far as it says where it answers. */
export interface ProxyPod extends KubeObject {
  /** Undefined until it has an address, and again when it has ended: another Pod may have the address then. */
  readonly podIp: string | undefined;
  readonly isReady: boolean;
}

const labelSelector = formatLabelSelector({ matchLabels: podSelector });

/** The Pods of the proxy. */
export function proxyPods(namespace: string): ResourceScope {
  return { type: podType, namespace, labelSelector };
}

export function proxyPod(object: KubeObject): ProxyPod {
  const current = (object["status"] ?? {}) as {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: PodConditions;
  };
  return {
    ...namedObject(object),
    podIp: hasEnded(current) ? undefined : current.podIP,
    isReady: hasReadyCondition(current.conditions),
  };
}
