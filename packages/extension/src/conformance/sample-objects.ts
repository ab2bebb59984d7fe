import type { ExtensionObject, ExtensionTarget } from "../extension-request.js";

/** Objects such as the operator makes, by what they are of: an extension is tested with them unless its author has others, and asked about them while it fails. */
export function sampleObjects(namespace: string): Readonly<Record<ExtensionTarget, ExtensionObject>> {
  return {
    Sidecar: {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Sidecar",
      metadata: { name: "storefront", namespace, annotations: {} },
      spec: { container: container("flagd", "ghcr.io/bunting/bunting-agent:0.1.0") },
    },
    Proxy: deployment("flagd-proxy", namespace, "ghcr.io/bunting/bunting-proxy:0.1.0"),
    Flagd: {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "flags", namespace, labels: labelsOf("flags"), annotations: {} },
      spec: { rules: [{ host: "flags.example.com" }] },
    },
    FeatureFlag: {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlag",
      metadata: { name: "storefront", namespace },
      spec: {
        flagSpec: {
          flags: { banner: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" } },
        },
      },
    },
  };
}

function container(name: string, image: string): ExtensionObject[string] {
  const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "64Mi" } };
  return { name, image, resources };
}

function deployment(name: string, namespace: string, image: string): ExtensionObject {
  const labels = labelsOf(name);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container(name, image)] } },
    },
  };
}

function labelsOf(name: string): ExtensionObject[string] {
  return { "app.kubernetes.io/name": name };
}
