import { requestAnnotations } from "@bunting/featureflags/resources";

/**
 * Names that the operator and the open-feature-operator write into clusters. The CLI can't import those of the operator, since services never
 * meet; a test compares them.
 */
export const podAnnotations = Object.freeze({
  enabled: "openfeature.dev/enabled",
  ...requestAnnotations,
  allowKubernetesSync: "openfeature.dev/allowkubernetessync",
  injected: "bunting.dev/injected",
  notInjected: "bunting.dev/not-injected",
  injection: "bunting.dev/injection",
});

export const objectNames = Object.freeze({
  /** The container in Pods. */
  sidecar: "flagd",
  /** The objects of a namespace with what its Pods get: all but the first have what it has no room for. */
  injections: ["bunting", "bunting-1", "bunting-2", "bunting-3"],
  /** A label of Pods: `policy` or `webhook`. */
  injectedBy: "bunting.dev/injected-by",
  /** How the name of the policy begins that injects. */
  policy: "inject.bunting.dev",
  mutatingWebhook: "open-feature-operator-mutating-webhook-configuration",
  validatingWebhook: "open-feature-operator-validating-webhook-configuration",
  /** How that of an operator begins that serves only some namespaces; its own namespace follows. */
  ownWebhooks: "bunting-operator-",
  /** The Deployment of the open-feature-operator. */
  stockOperator: "open-feature-operator-controller-manager",
  proxy: "flagd-proxy",
  /** The ConfigMap that says how far the proxy's security is. */
  proxySecurity: "bunting-proxy-security",
  /** The Secret with the proxy's certificate. */
  proxyCertificate: "flagd-proxy-tls",
  /** The ConfigMap by which the sidecars of a namespace verify the proxy. */
  proxyAuthority: "bunting-ca",
});

/** How the open-feature-operator marks what it made. */
export const stockMark = Object.freeze({
  label: "app.kubernetes.io/managed-by",
  value: "open-feature-operator",
});

const admissionGroup = "admissionregistration.k8s.io";

/** What kinds are called in URLs of the API server. */
export const clusterTypes = {
  pod: { group: "", version: "v1", plural: "pods" },
  configMap: { group: "", version: "v1", plural: "configmaps" },
  secret: { group: "", version: "v1", plural: "secrets" },
  deployment: { group: "apps", version: "v1", plural: "deployments" },
  injection: { group: "bunting.dev", version: "v1alpha1", plural: "injections" },
  endpointSlice: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" },
  mutatingWebhook: { group: admissionGroup, version: "v1", plural: "mutatingwebhookconfigurations" },
  validatingWebhook: { group: admissionGroup, version: "v1", plural: "validatingwebhookconfigurations" },
  /** Of Kubernetes 1.36, and before. */
  mutatingPolicies: ["v1", "v1beta1"].map((version) => ({
    group: admissionGroup,
    version,
    plural: "mutatingadmissionpolicies",
  })),
} as const;
