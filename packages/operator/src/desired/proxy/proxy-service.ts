import type { DesiredObject } from "../desired-object.js";
import { managedLabels } from "../managed-labels.js";
import { podSelector, proxyNames, type ProxySettings } from "./proxy-settings.js";

/** The Service by which sidecars reach the proxy. The management port is in none: what is read there is read of one Pod. */
export function proxyService({ namespace, ports }: ProxySettings): DesiredObject {
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
          appProtocol: "grpc",
        },
      ],
    },
  };
}
