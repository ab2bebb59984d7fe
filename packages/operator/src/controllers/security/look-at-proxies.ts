import type { KubeObject, RestClient } from "@bunting/kube";
import { hasEnded } from "@bunting/featureflags/resources";
import { proxyAccessAnnotation } from "../../desired/proxy-security/proxy-tls.js";
import type { ProxyAccess } from "../../desired/proxy-security/security-state.js";
import type { DeploymentStatus } from "../../desired/proxy/proxy-rollout.js";
import { liveProxy } from "../proxy/proxy-cluster.js";
import { proxyPods } from "../proxy/proxy-pod.js";

interface Annotated {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

interface LiveProxy extends KubeObject {
  readonly spec?: { readonly template?: Annotated };
  readonly status?: DeploymentStatus;
}

/** What is seen of the proxy's replicas. */
export interface ProxySight {
  /** Names of Pods that do not serve as they should, those that end included. */
  readonly others: readonly string[];
  /** Whether their Deployment is as it should be, and will make no others. */
  readonly isRolledOut: boolean;
  /** Whom the Deployment has its Pods serve; undefined if there is none. */
  readonly deployed: ProxyAccess | undefined;
  readonly deployment: KubeObject | undefined;
}

/**
 * Looks which replicas of the proxy serve as they should.
 *
 * @throws KubeError
 */
export async function lookAtProxies(
  client: Pick<RestClient, "get" | "list">,
  namespace: string,
  access: ProxyAccess,
  signal: AbortSignal,
): Promise<ProxySight> {
  // The Deployment first: a Pod that it makes later is as its template is by now.
  const live = (await liveProxy(client, namespace, signal)) as LiveProxy | undefined;
  const { items } = await client.list(proxyPods(namespace), {}, signal);
  const others = items.filter((pod) => !hasEnded(pod["status"] ?? {}) && accessOf(pod) !== access);
  const deployed = live === undefined ? undefined : accessOf(live.spec?.template ?? {});
  return {
    others: others.map(({ metadata }) => metadata.name),
    isRolledOut: live === undefined || (deployed === access && hasOnlyUpdated(live)),
    deployed,
    deployment: live,
  };
}

/** The Pods of an older version are gone, or end. */
function hasOnlyUpdated({ metadata, status = {} }: LiveProxy): boolean {
  const { generation = 0 } = metadata as { readonly generation?: number };
  const { observedGeneration = -1, replicas = 0, updatedReplicas = 0 } = status;
  return observedGeneration >= generation && replicas === updatedReplicas;
}

function accessOf({ metadata }: Annotated): ProxyAccess {
  const text = metadata?.annotations?.[proxyAccessAnnotation];
  return text === "both" || text === "secured" ? text : "plain";
}
