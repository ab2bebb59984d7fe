import type { ExtensionObject, ExtensionRequest } from "./extension-request.js";
import type { SidecarObject } from "./sidecar-object.js";

/** What an operator asks of the Deployment of its proxy, with other values where they are given. */
export function extensionRequest(changes: Partial<ExtensionRequest> = {}): ExtensionRequest {
  return {
    uid: "4d6f1a52",
    hook: "pre-create",
    target: "Proxy",
    operation: "CREATE",
    dryRun: false,
    namespace: { name: "shop-dev", labels: { team: "shop" }, annotations: {} },
    object: proxyDeployment(),
    ...changes,
  };
}

export function proxyDeployment(): ExtensionObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "flagd-proxy", namespace: "bunting-system", labels: { app: "flagd-proxy" } },
    spec: {
      replicas: 2,
      template: {
        metadata: { labels: { app: "flagd-proxy" }, annotations: { a: "1" } },
        spec: {
          initContainers: [{ name: "wait", image: "wait:1" }],
          containers: [
            { name: "proxy", image: "proxy:1", resources: { limits: { memory: "64Mi" } } },
            { name: "other", image: "other:1" },
          ],
        },
      },
    },
  };
}

export function sidecarObject(): SidecarObject {
  return {
    apiVersion: "bunting.dev/v1alpha1",
    kind: "Sidecar",
    metadata: { name: "storefront", namespace: "shop-dev", annotations: { "example.com/a": "1" } },
    spec: {
      container: {
        name: "flagd",
        image: "agent:1",
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "64Mi" } },
      },
    },
  };
}
