import { cut } from "@bunting/runtime";

/** Why an annotation, a source or a setting is not served, or is served otherwise than it is written. One word a cause, for conditions, events and metrics. */
export type SourceProblemReason =
  /** The text of the annotation names nothing. */
  | "NothingNamed"
  /** The text names more objects, or larger ones, than can be merged, or is too long. */
  | "TooMany"
  /** A name that Kubernetes would not accept. */
  | "InvalidName"
  | "NotFound"
  /** An object of another namespace, whose owner does not share it, or that does not exist: nobody is told which. */
  | "NotShared"
  /** The operator serves no objects of other namespaces. */
  | "CrossNamespaceDenied"
  /** An object of a namespace in which the operator may not read. */
  | "NamespaceNotServed"
  | "UnknownProvider"
  /** A setting with which the sidecar would not start, or the Pod would be refused. */
  | "InvalidSetting"
  /** No source is left. */
  | "NoSources"
  /** Served although the owner of another namespace has not shared it. */
  | "CrossNamespaceLegacy"
  /** The namespace has more, or larger, entries than an object can hold. */
  | "TooLarge"
  /** An extension refuses it. */
  | "RefusedByExtension"
  /** An extension has failed without which nothing new is made. */
  | "ExtensionFailed"
  /** A configuration for an extension that does not exist. */
  | "UnknownExtension"
  /** The API server refuses the Injection in which it would be. */
  | "NotWritten";

export interface SourceProblem {
  readonly reason: SourceProblemReason;
  /** A sentence for a person: what is wrong, where, and what to do. It has no full stop. */
  readonly message: string;
}

/** The most that are told of one text, and of each: conditions and warnings have no room for more. */
const maxProblems = 16;
const maxCharacters = 1_024;

/** Of many problems the first ones and the last, by which a text is refused: there may be one for each of a thousand sources, and outcomes are kept. */
export function fewProblems(problems: readonly SourceProblem[]): readonly SourceProblem[] {
  const few =
    problems.length <= maxProblems
      ? problems
      : [...problems.slice(0, maxProblems - 1), ...problems.slice(-1)];
  return few.map(({ reason, message }) => ({ reason, message: cut(message, maxCharacters) }));
}

/** Several problems as one text. */
export function sentencesOf(problems: readonly SourceProblem[]): string {
  return problems.map(({ message }) => message).join("; ");
}
