export { definedFields } from "./resource/defined-fields.js";
export { hasEnded } from "./resource/has-ended.js";
export { podNeeds, proxyServiceName, type AskingPod, type PodNeeds } from "./resource/pod-needs.js";
export { podRequest, requestAnnotations, requestParts, type PodRequest } from "./resource/pod-request.js";
export {
  featureFlagSourceType,
  flagdType,
  inProcessConfigurationType,
  openFeatureApiVersion,
} from "./resource/custom-resource.js";
export type { EnvironmentValueSource, EnvironmentVariable } from "./resource/environment-variable.js";
export {
  featureFlagSourceDefaults,
  type DefaultedFeatureFlagSource,
  type FeatureFlagSource,
  type FeatureFlagSourceSpec,
  type ResourceRequirements,
  type SourceEntry,
  type SourceProvider,
} from "./resource/feature-flag-source.js";
export {
  defaultedFlagd,
  type Flagd,
  type FlagdIngress,
  type FlagdPodTemplate,
  type FlagdSpec,
} from "./resource/flagd.js";
export {
  inProcessConfigurationDefaults,
  mergeInProcessConfigurations,
  type DefaultedInProcessConfiguration,
  type InProcessConfiguration,
  type InProcessConfigurationSpec,
} from "./resource/in-process-configuration.js";
export { mergeFeatureFlagSources } from "./resource/merge-feature-flag-sources.js";
export {
  defaultedFlagRollout,
  isGivenUp,
  rolloutAnnotations,
  type FlagRollout,
} from "./resource/flag-rollout.js";
export {
  decodeWhole,
  encodeWhole,
  flagRolloutPhases,
  readFlagRolloutStatus,
  type FlagRolloutPhase,
  type FlagRolloutStatus,
  type WholeVersion,
} from "./resource/flag-rollout-status.js";
export {
  calledUrl,
  parseRemoteFlagProvider,
  remoteProviderDefaults,
  remoteStrategies,
  type RemoteFlagProvider,
  type RemoteStrategy,
  type RemoteType,
  type SecretKey,
} from "./resource/remote-flag-provider.js";
export { nanoUnits } from "./resource/quantity.js";
export { resourceFields } from "./resource/resource-fields.js";
export {
  collectorProblem,
  contextKeyProblem,
  flagdOnly,
  headerProblem,
  prefixProblem,
  sourceProblem,
} from "./resource/sidecar-start.js";
export { variableProblem } from "./resource/usable-variable.js";
export {
  inlineAnnotations,
  inlineFileName,
  inlineFlagName,
  inlineFlagsOf,
  inlineKinds,
  isInlineKind,
  maxInlineNameLength,
  workloadOfInlineFlag,
  type InlineKind,
} from "./resource/inline-flags.js";
