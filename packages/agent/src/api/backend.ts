import type {
  EvaluationContext,
  Flag,
  FlagFilter,
  FlagSelector,
  ResolvedFlag,
  Resolution,
} from "@bunting/evaluation";

export type { FlagFilter, FlagSelector, ResolvedFlag } from "@bunting/evaluation";
export type { ChangeType, FlagChange } from "../store/flag-change.js";

/** What the API needs of the stages before it, in the words of the API; the wiring hands the real ones in. */

/** Answers evaluations from the flags that are served now. */
export interface FlagEvaluator {
  resolve(key: string, context: EvaluationContext, select?: FlagFilter): Resolution;
  /** One item for each key, by the flagSetId and key of the flag that `resolve` evaluates. */
  resolveAll(context: EvaluationContext, select?: FlagFilter): Iterable<ResolvedFlag>;
}

/** The flags that are served now. */
export interface FlagReader {
  flags(): Iterable<Flag>;
}

/** Throws a FlagError SELECTOR_INVALID with a message for the client. */
export type ParseFlagSelector = (text: string) => FlagSelector;

/** Request headers, by lower-case name; the first value where there are several. */
export interface RequestHeaders {
  header(name: string): string | undefined;
}
