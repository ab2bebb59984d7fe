import type { EvaluationContext, Flag, FlagFilter, ResolvedFlag, Resolution } from "@bunting/evaluation";

// What the API needs of the stages before it; the wiring hands them in.

/** Answers evaluations from the flags that are served now. */
export interface FlagEvaluator {
  resolve(key: string, context: EvaluationContext, select?: FlagFilter): Resolution;
  /** One item for each flag, by flagSetId and key, with what `resolve` answers for the key. */
  resolveAll(context: EvaluationContext, select?: FlagFilter): Iterable<ResolvedFlag>;
}

/** The flags that are served now. */
export interface FlagReader {
  flags(): Iterable<Flag>;
}

export interface CurrentFlags extends FlagReader {
  /** The flag that is served for a flagSetId ("" for none) and key. */
  flag(flagSetId: string, key: string): Flag | undefined;
}

/** The sources that have not answered since the start. */
export interface UnreadSources {
  /** True if a flag that is not served may exist all the same among those of a selection. */
  mayLack(selection: { readonly takesSource: (source: string) => boolean }): boolean;
}
