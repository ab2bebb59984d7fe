import type { ResourceType } from "@bunting/kube";

/** FeatureFlag, as it is in URLs. */
export const featureFlagType: ResourceType = {
  group: "core.openfeature.dev",
  version: "v1beta1",
  plural: "featureflags",
};
