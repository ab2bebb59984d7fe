import type { EvaluationContext, Flag, Metadata, Resolution } from "@bunting/evaluation";

/** What the API needs of the stages before it, in the words of the API; the wiring hands the real ones in. */

/** Answers evaluations from the flags that are served now. */
export interface FlagEvaluator {
  resolve(key: string, context: EvaluationContext, select?: FlagFilter): Resolution;
  /** One item a flag, sorted by flagSetId, then key. */
  resolveAll(context: EvaluationContext, select?: FlagFilter): Iterable<ResolvedFlag>;
}

export interface ResolvedFlag {
  readonly flag: Flag;
  readonly resolution: Resolution;
}

export type FlagFilter = (flag: Flag) => boolean;

/** The flags that are served now. */
export interface FlagReader {
  flags(): Iterable<Flag>;
}

/** What one update did to one flag. */
export interface FlagChange {
  readonly key: string;
  readonly flagSetId: string;
  readonly type: ChangeType;
  readonly before?: Flag | undefined;
  readonly after?: Flag | undefined;
}

export type ChangeType = "write" | "update" | "delete";

/** A selector, read: which flags it means, and what it says of itself in the metadata of each answer. */
export interface FlagSelector {
  matches(flag: Flag): boolean;
  readonly metadata: Metadata;
}

/** Throws an AgentError SELECTOR_INVALID with a message for the client. */
export type ParseFlagSelector = (text: string) => FlagSelector;

/** Request headers, by lower-case name; the first value where there are several. */
export interface RequestHeaders {
  header(name: string): string | undefined;
}
