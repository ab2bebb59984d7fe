import { formatLabelSelector, type ClusterWatches } from "@bunting/kube";
import type { Runnable } from "@bunting/runtime";
import { managedLabels } from "../../desired/managed-labels.js";
import { proxyNames } from "../../desired/proxy/proxy-settings.js";
import { resourceTypes } from "../apply/resource-types.js";
import { namedObject } from "../named-object.js";

const kinds = ["Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"] as const;
const names: ReadonlySet<string> = new Set(Object.values(proxyNames));

/** Watches the objects of the proxy, of which nothing but their names is kept. An object that loses the label counts as deleted. */
export function proxyWatches(
  watches: ClusterWatches,
  namespace: string,
  onChange: () => void,
): readonly Runnable[] {
  const labelSelector = formatLabelSelector({ matchLabels: managedLabels });
  return kinds.map((kind) =>
    watches.inform(
      { type: resourceTypes[kind], namespace, labelSelector, isMetadataOnly: true },
      {
        transform: namedObject,
        handler: {
          changed: (_key, object, before) => {
            if (names.has((object ?? before)?.metadata.name ?? "")) onChange();
          },
        },
      },
    ),
  );
}
