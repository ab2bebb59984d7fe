import type { OwnerReference } from "@bunting/kube";
import type { DesiredObject } from "../desired-object.js";
import { proxyDeployment } from "./proxy-deployment.js";
import { proxyDisruptionBudget } from "./proxy-disruption-budget.js";
import { proxyNetworkPolicy } from "./proxy-network-policy.js";
import type { ProxyRollout } from "./proxy-rollout.js";
import { proxyService } from "./proxy-service.js";
import type { ProxySettings } from "./proxy-settings.js";

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
