import type { JsonValue } from "@bunting/protocol";

/** What metadata may hold, for every provider to read it. */
export type MetadataValue = string | number | boolean;

export type Metadata = Readonly<Record<string, MetadataValue>>;

/**
 * One flag as it stands in the store. Immutable, and its identity is its version: a flag that an update did not change keeps its
 * object, so that what was compiled from it keeps too.
 */
export interface Flag {
  readonly key: string;
  /** "DISABLED" (exactly) disables; anything else counts as enabled, as in flagd. */
  readonly state: string;
  readonly variants: ReadonlyMap<string, JsonValue>;
  /** Undefined where the document has null, "" or nothing: the default in the code is meant. */
  readonly defaultVariant: string | undefined;
  /**
   * With every `$ref` that has an evaluator replaced; undefined where absent or {}. Any JSON value is a rule for flagd: null is the
   * one that always means the default variant (with reason DEFAULT, not STATIC), and "on" the one that always means "on".
   */
  readonly targeting: JsonValue | undefined;
  /** The set's metadata under the flag's own. */
  readonly metadata: Metadata;
  /** From the flag's metadata, else the set's; "" where neither has one. */
  readonly flagSetId: string;
  /** The URI of the source, as flagd names it; several sources may share one. */
  readonly source: string;
  /** The source's place in `--sources`: a later source wins for the same flagSetId and key. */
  readonly sourceIndex: number;
}
