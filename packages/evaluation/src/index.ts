export { checkTargeting, targetingProblems, type TargetingProblem } from "./check-targeting.js";
export { compiledHeapBytes } from "./compiled-heap.js";
export { createEvaluator } from "./create-evaluator.js";
export { parseDistribution, type VariantDistribution } from "./distribution.js";
export { Evaluator, type EvaluatorOptions, type FlagChanges, type ResolvedFlag } from "./evaluator.js";
export { explain, type Explanation, type RuleStep } from "./explain.js";
export { FlagError, type FlagErrorCode } from "./flag-error.js";
export { parseFlagSelector, type FlagOrigin, type FlagSelector } from "./flag-selector.js";
export { compareFlagSetIds, type Flag, type Metadata, type MetadataValue } from "./flag.js";
export {
  parseDocument,
  type DocumentOrigin,
  type ParsedDocument,
  type InvalidFlag,
} from "./parse-document.js";
export type { FlagFilter } from "./flag-index.js";
export {
  evaluatorsOf,
  inlineReferences,
  resolvingEvaluators,
  servableEvaluators,
} from "./inline-references.js";
export { operatorNames } from "./operators/registry.js";
export { metadataOf, parseFlag, type FlagSetContext } from "./parse-flag.js";
export type { EvaluationContext, EvaluationErrorCode, Reason, Resolution } from "./resolution.js";
export { hasSameVariants, isSameFlag, isSameJson } from "./same-flag.js";
export type { EvaluationClock } from "./scope.js";
export { parseVersion, type Version } from "./semver.js";
