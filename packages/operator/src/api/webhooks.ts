/** The paths of the webhooks: those of the open-feature-operator where it has them. */
export const webhookPaths = Object.freeze({
  pod: "/mutate-v1-pod",
  /** For Pods that must not start without what they ask for. */
  requiredPod: "/mutate-v1-pod/required",
  featureFlag: "/validate-core-openfeature-dev-v1beta1-featureflag",
  featureFlagSource: "/validate-core-openfeature-dev-v1beta1-featureflagsource",
});

/** The configurations by which the API server knows the webhooks, called as those of the open-feature-operator. */
export const webhookConfigurationNames = Object.freeze({
  mutating: "open-feature-operator-mutating-webhook-configuration",
  validating: "open-feature-operator-validating-webhook-configuration",
});

const admissionApi = { group: "admissionregistration.k8s.io", version: "v1" } as const;

export const mutatingWebhookType = { ...admissionApi, plural: "mutatingwebhookconfigurations" } as const;
export const validatingWebhookType = { ...admissionApi, plural: "validatingwebhookconfigurations" } as const;
