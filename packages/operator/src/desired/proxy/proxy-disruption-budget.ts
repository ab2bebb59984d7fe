import type { DesiredObject } from "../desired-object.js";
import { managedLabels } from "../managed-labels.js";
import { podSelector, proxyNames, type ProxySettings } from "./proxy-settings.js";

/** Half of the replicas stay while nodes are drained. A single one does not keep its node: agents serve on without it. */
export function proxyDisruptionBudget({ namespace, replicas }: ProxySettings): DesiredObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: proxyNames.disruptionBudget, namespace, labels: managedLabels },
    spec: {
      minAvailable: Math.floor(replicas / 2),
      // A proxy that is not ready does not keep its node from being drained.
      unhealthyPodEvictionPolicy: "AlwaysAllow",
      selector: { matchLabels: podSelector },
    },
  };
}
