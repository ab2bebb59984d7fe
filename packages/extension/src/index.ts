export {
  configurationAnnotation,
  configurationPrefix,
  extensionAudience,
  extensionHooks,
  extensionOperations,
  extensionTargets,
  maxExtensionBytes,
  type ExtensionHook,
  type ExtensionNamespace,
  type ExtensionObject,
  type ExtensionObjectMetadata,
  type ExtensionOperation,
  type ExtensionRequest,
  type ExtensionTarget,
} from "./extension-request.js";
export {
  maxExtensionFindings,
  maxReasonLength,
  readAnswer,
  type ExtensionAnswer,
  type ExtensionFinding,
  type ExtensionResponse,
} from "./extension-answer.js";
export type {
  SidecarContainer,
  SidecarMetadata,
  SidecarObject,
  SidecarQuantities,
  SidecarSpec,
} from "./sidecar-object.js";
