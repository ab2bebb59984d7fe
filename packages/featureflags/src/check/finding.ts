/** What a finding is about. */
export type FindingKind =
  | "unreadable" // the file is no text, holds nothing, or is larger than what the proxy reads.
  | "syntax" // it is not YAML or JSON, or has a key twice.
  | "manifest" // it is neither a FeatureFlag nor a flagd file, or its names are wrong.
  | "document" // the proxy refuses the flags in it.
  | "duplicate" // the FeatureFlag is there a second time.
  | "too-large" // a document has more bytes than the limit.
  | "flag" // agents refuse the flag.
  | "unknown-operator" // the rule uses an operator that does not exist.
  | "unknown-evaluator" // a `$ref` leads to no evaluator.
  | "unknown-variant" // the rule may give a result that names no variant.
  | "unused-evaluator" // no rule refers to the evaluator.
  | "mixed-variants" // the variants of a flag have values of different types.
  | "no-variants" // the flag has no variants, so it never has a value.
  | "state" // the state is neither ENABLED nor DISABLED.
  | "not-stored" // a flag that API servers refuse, and a proxy with a directory serves.
  | "unknown-field" // a field that is not served.
  | "stripped-metadata" // metadata that is not served.
  | "operator-arguments" // an operator has arguments with which it always gives null.
  | "yaml-1.1" // kubectl reads a word of the YAML as another value.
  | "template" // what only a template of Helm has is in what is served.
  | "source" // a source, or a setting of a FeatureFlagSource, that the API server or the operator refuses.
  | "provider" // a source names a provider that does not exist.
  | "port" // a port that is none, or two services on one port.
  | "annotation" // an annotation of a Pod that the operator does not read as its author means.
  | "rollout" // a rollout that the API server refuses.
  | "remote" // a remote flag provider that the proxy does not ask.
  | "unknown-flag" // a source names a FeatureFlag that is in none of the files.
  | "extension" // what an extension of the operator has to say.
  | "number"; // a number that is not what is written: `1.10` is 1.1, and digits beyond the 15th are lost.

/** An error is not served, or fails when it is evaluated; a warning is served, but maybe not as its author thinks. */
export type Severity = "error" | "warning";

/** A finding about flags, with its place. */
export interface Finding {
  readonly severity: Severity;
  readonly kind: FindingKind;
  readonly message: string;
  /** The flag it is about. */
  readonly flag?: string;
  /** Of the field, from the object or document that was checked. */
  readonly path: readonly string[];
}
