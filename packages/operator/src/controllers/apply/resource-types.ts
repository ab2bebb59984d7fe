import type { ResourceType } from "@bunting/kube";
import type { DesiredObject } from "../../desired/desired-object.js";

/** The types of what controllers apply, as they are named in URLs. */
export const resourceTypes = Object.freeze({
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  Service: { group: "", version: "v1", plural: "services" },
  PodDisruptionBudget: { group: "policy", version: "v1", plural: "poddisruptionbudgets" },
  NetworkPolicy: { group: "networking.k8s.io", version: "v1", plural: "networkpolicies" },
  HorizontalPodAutoscaler: { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" },
  Ingress: { group: "networking.k8s.io", version: "v1", plural: "ingresses" },
  HTTPRoute: { group: "gateway.networking.k8s.io", version: "v1", plural: "httproutes" },
} satisfies Readonly<Record<string, ResourceType>>);

export type AppliedKind = keyof typeof resourceTypes;

/** @throws Error for a kind that is not in the table, which is a mistake of ours. */
export function resourceTypeOf({ kind, apiVersion }: DesiredObject): ResourceType {
  const type = Object.entries(resourceTypes).find(([known]) => known === kind)?.[1];
  if (type === undefined) throw new Error(`no controller applies objects of ${apiVersion} ${kind}`);
  return type;
}
