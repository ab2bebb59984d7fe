import { requestAnnotations } from "@bunting/featureflags/resources";

/** Annotations of the open-feature-operator, on Pods. */
export const annotations = Object.freeze({
  /** "true": the Pod wants flags. Without it, nothing else is read. */
  enabled: "openfeature.dev/enabled",
  /** FeatureFlagSources, in the order in which they are merged: `name` or `namespace/name`, separated by commas. */
  source: requestAnnotations.source,
  /** InProcessConfigurations, in the same form; FeatureFlagSources win over them. */
  inProcess: requestAnnotations.inProcess,
  /** FeatureFlags that need no FeatureFlagSource, in the same form; they come after what sources have. */
  flag: requestAnnotations.flag,
  /** "true" on Pods whose sidecar watches FeatureFlags itself. */
  allowKubernetesSync: "openfeature.dev/allowkubernetessync",
});

/** Annotations of Bunting's own. */
export const buntingAnnotations = Object.freeze({
  /** `required` on a Pod: it must not start without a sidecar. The same name is a label of namespaces. */
  injection: "bunting.dev/injection",
  /** On a Pod, written by us: `policy DIGEST` or `webhook DIGEST`. */
  injected: "bunting.dev/injected",
  /** On a Pod, written by us: why it has no sidecar. */
  notInjected: "bunting.dev/not-injected",
  /** On FeatureFlags, FeatureFlagSources and InProcessConfigurations: the namespaces that may use them, separated by commas. */
  readers: "bunting.dev/readers",
  /** On a Pod, written by us: the image that its sidecar had before the last AgentRollout. */
  agentPrevious: "bunting.dev/agent-previous",
  /** On a Pod, written by us: how far an AgentRollout is with it, as JSON. */
  agentRollout: "bunting.dev/agent-rollout",
  /** On FeatureFlags and namespaces: `strict`, `errors` or `warn`. */
  validation: "bunting.dev/validation",
});

/**
 * The cluster autoscaler's, on Pods: volumes that are of no more use once a Pod is evicted, separated by commas without spaces. It removes no node
 * with a Pod that has other volumes of the node's.
 */
export const evictableVolumesAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

/** A label of injected Pods; its value is the revision of the sidecar. */
export const agentLabel = "bunting.dev/agent";

/**
 * A label of Pods with our sidecar: `policy` or `webhook`. API servers skip the webhook by it for Pods that a policy has injected, which costs them
 * less than any expression.
 */
export const injectedByLabel = "bunting.dev/injected-by";

/** A label of the Pods by which nodes pull an image; its value is the uid of the AgentRollout that is to give it. */
export const imagePullLabel = "bunting.dev/image-pull";

/** How the open-feature-operator marks what it made, and recognises it. */
export const managedBy = Object.freeze({
  label: "app.kubernetes.io/managed-by",
  value: "open-feature-operator",
});

/** Of all objects of a Flagd, with its name. */
export const nameLabel = "app.kubernetes.io/name";

/** The sidecar's name in Pods. */
export const sidecarName = "flagd";

/** An annotation of the Deployment of a Flagd, written by us: the number of replicas that the Flagd asked for last. */
export const replicasAnnotation = "bunting.dev/replicas";

/** Annotations of the Deployment of the proxy, written by us. */
export const proxyAnnotations = Object.freeze({
  /** The last image with which all replicas were available: what is gone back to. */
  availableImage: "bunting.dev/available-image",
  /** The image that did not become available, and is not tried again while it is the one that is asked for. */
  refusedImage: "bunting.dev/refused-image",
});
