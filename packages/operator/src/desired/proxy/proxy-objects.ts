import type { OwnerReference } from "@bunting/kube";
import type { DesiredObject } from "../desired-object.js";
import { proxyDeployment } from "./proxy-deployment.js";
import { proxyNetworkPolicy } from "./proxy-network-policy.js";
import type { ProxyRollout } from "./proxy-rollout.js";
import { type ProxySettings, podSelector, proxyNames } from "./proxy-settings.js";
import { managedLabels } from "../managed-labels.js";

/** The objects of the proxy. */
export interface ProxyObjects {
  readonly deployment: DesiredObject;
  /** Other objects, which are there before the Deployment. */
  readonly others: readonly DesiredObject[];
  /** Objects that the settings ask not to have. */
  readonly unwanted: readonly DesiredObject[];
}

/** @param owner the operator's own Deployment, with which the proxy is garbage; undefined if it runs otherwise */
export function proxyObjects(
  settings: ProxySettings,
  { image, annotations }: Pick<ProxyRollout, "image" | "annotations">,
  owner: OwnerReference | undefined,
): ProxyObjects {
  const owned = (object: DesiredObject): DesiredObject =>
    owner === undefined ? object : { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
  const policy = owned(proxyNetworkPolicy(settings));
  return {
    deployment: owned(proxyDeployment(settings, image, annotations)),
    others: [
      owned(proxyService(settings)),
      owned(proxyDisruptionBudget(settings)),
      ...(settings.hasNetworkPolicy ? [policy] : []),
    ],
    unwanted: settings.hasNetworkPolicy ? [] : [policy],
  };
}

/** The Service by which sidecars reach the proxy. The management port is in none: what is read there is read of one Pod. */
function proxyService({ namespace, ports, access = "plain" }: ProxySettings): DesiredObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: proxyNames.service, namespace, labels: managedLabels },
    spec: {
      selector: podSelector,
      ports: [
        {
          name: "flagd-proxy",
          port: ports.sync,
          targetPort: ports.sync,
          protocol: "TCP",
          ...appProtocols[access],
        },
      ],
    },
  };
}

/**
 * What proxies of service meshes are told: they take `grpc` for plaintext, and find out by themselves, connection by connection, where nothing says
 * what it is.
 */
const appProtocols = { plain: { appProtocol: "grpc" }, both: {}, secured: { appProtocol: "https" } };

/**
 * Half of the replicas stay while nodes are drained, however many others scale it to. A single one does not keep its node: agents serve on without it.
 */
function proxyDisruptionBudget({ namespace }: ProxySettings): DesiredObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: proxyNames.disruptionBudget, namespace, labels: managedLabels },
    spec: {
      // Rounded up: of a single one, it may go.
      maxUnavailable: "50%",
      // The other bound must not stay where somebody has set it: with both, the object would be refused.
      minAvailable: null,
      // A proxy that is not ready does not keep its node from being drained.
      unhealthyPodEvictionPolicy: "AlwaysAllow",
      selector: { matchLabels: podSelector },
    },
  };
}
