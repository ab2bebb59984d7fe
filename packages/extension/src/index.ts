export { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
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
export { configurationFor, type Configured } from "./configuration-for.js";
export type { SidecarMetadata, SidecarObject } from "./sidecar-object.js";
export { answerRequest, type HookResponse } from "./answer-request.js";
export { isExtensionObject, isTexts } from "./json-of.js";
export { changedFields, isFixedField, pointerStep, unlistedFields } from "./changed-fields.js";
export { standsForSecurityContext } from "./mighty-texts.js";
export { askExtension } from "./conformance/ask-extension.js";
export {
  checkConformance,
  type ConformanceOptions,
  type ConformanceResult,
} from "./conformance/check-conformance.js";
export { stepsOf, valueAtPointer } from "./conformance/pointer.js";
export { sampleObjects } from "./conformance/sample-objects.js";
export type { PostOptions } from "./conformance/post.js";
export { refuse, HookRefusal, type ExtensionHooks, type LintHook, type PreCreateHook } from "./hooks.js";
export { mapContainers, mapPodTexts, mapTexts } from "./pod-parts.js";
export { serveExtension, type ServedExtension, type ServeOptions } from "./serve-extension.js";
export { annotater, type AnnotaterRule } from "./shipped/annotater.js";
export { flagOwner, type FlagOwnerOptions } from "./shipped/flag-owner.js";
export type { Matching } from "./shipped/matching.js";
export { qualityOfService, type QualityLevel } from "./shipped/quality-of-service.js";
