export { Evaluator, type EvaluatorOptions, type FlagChanges, type ResolvedFlag } from "./evaluator.js";
export { FlagError, type FlagErrorCode } from "./flag-error.js";
export { parseFlagSelector, type FlagSelector } from "./flag-selector.js";
export type { Flag, Metadata, MetadataValue } from "./flag.js";
export type { FlagFilter } from "./flag-index.js";
export { parseFlag, type FlagSetContext } from "./parse-flag.js";
export type { EvaluationContext, EvaluationErrorCode, Reason, Resolution } from "./resolution.js";
export { hasSameVariants, isSameFlag, isSameJson } from "./same-flag.js";
export type { EvaluationClock } from "./scope.js";
