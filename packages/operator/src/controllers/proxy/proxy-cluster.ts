import {
  type EventRecorder,
  type KubeObject,
  type OwnerReference,
  type RestClient,
  unlessNotFound,
} from "@bunting/kube";
import type { ProxyAccess } from "../../desired/proxy-security/security-state.js";
import type { LiveDeployment } from "../../desired/proxy/proxy-rollout.js";
import { proxyNames } from "../../desired/proxy/proxy-settings.js";
import type { OwnPlace } from "../own-place.js";
import type { Applier } from "../apply/applier.js";
import { resourceTypes } from "../apply/resource-types.js";
import type { ProxySubscribers } from "./proxy-subscribers.js";

/** What deploying the proxy needs of the cluster. */
export interface ProxyCluster {
  readonly client: Pick<RestClient, "get">;
  readonly applier: Pick<Applier, "apply" | "remove">;
  readonly events: Pick<EventRecorder, "record">;
  /** The operator's own Deployment, to which the objects belong; undefined if there is none. */
  readonly owner: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
  /** The operator's own. Absent: any namespace, and the network of Pods. */
  readonly place?: (signal: AbortSignal) => Promise<OwnPlace>;
  readonly subscribers: Pick<ProxySubscribers, "count">;
  /** Whom the proxy is to serve; undefined while it is not known: then nothing is deployed. Absent: everybody, in plaintext. */
  readonly access?: () => ProxyAccess | undefined;
}

/** The Deployment of the proxy as it is; undefined if there is none. */
export function liveProxy(
  client: ProxyCluster["client"],
  namespace: string,
  signal: AbortSignal,
): Promise<(KubeObject & LiveDeployment) | undefined> {
  const scope = { type: resourceTypes.Deployment, namespace, name: proxyNames.deployment };
  return unlessNotFound(client.get(scope, signal));
}

/** Records an event of the Deployment. */
export function recordProxyEvent(
  events: ProxyCluster["events"],
  { metadata }: KubeObject,
  event: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly note: string },
): void {
  const { namespace = "", name, uid = "" } = metadata;
  const regarding = { apiVersion: "apps/v1", kind: "Deployment", namespace, name, uid };
  events.record({ regarding, action: "Reconcile", ...event });
}
