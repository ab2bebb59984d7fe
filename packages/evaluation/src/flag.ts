import { compareUtf8, type JsonObject, type JsonValue } from "@bunting/protocol";

/** What metadata may hold so that every provider can read it. */
export type MetadataValue = string | number | boolean;

export type Metadata = Readonly<Record<string, MetadataValue>>;

/**
 * One parsed flag. Immutable, and its identity is its version: a flag that an update did not change keeps its object, and so its compiled
 * rule.
 */
export interface Flag {
  readonly key: string;
  /** "DISABLED" (exactly) disables; anything else counts as enabled, as in flagd. */
  readonly state: string;
  readonly variants: ReadonlyMap<string, JsonValue>;
  /** Undefined if the document has null, "" or nothing, which means the default in the application's code. */
  readonly defaultVariant: string | undefined;
  /**
   * With every `$ref` that has an evaluator replaced; undefined if absent, `emptyTargeting` if {}: neither is a rule. flagd takes any JSON value as a rule: null always means
   * the default variant (with reason DEFAULT, not STATIC), and "on" always means "on".
   */
  readonly targeting: JsonValue | undefined;
  /** The set's metadata under the flag's own. */
  readonly metadata: Metadata;
  /** From the flag's metadata, else from the set's; "" if neither has one. */
  readonly flagSetId: string;
  /** The URI of the source, as flagd names it; several sources may share one. */
  readonly source: string;
  /** The source's place in `--sources`: a later source wins for the same flagSetId and key. */
  readonly sourceIndex: number;
}

/** What `{}` is parsed as. */
export const emptyTargeting: JsonObject = Object.freeze({});

/** The rule that decides the variant, if the flag has one. */
export function ruleOf({ targeting }: Flag): JsonValue | undefined {
  return targeting === emptyTargeting ? undefined : targeting;
}

/**
 * The order of flag sets. flagd gives flags without a flagSetId a random UUID at start, and sorts by that: here it is always the same, one
 * in the middle of what it may be. So they come after ids that begin with `-`, and before those that begin with `g` or a later letter.
 */
export function compareFlagSetIds(a: string, b: string): number {
  return compareUtf8(a === "" ? idOfNone : a, b === "" ? idOfNone : b);
}

const idOfNone = "80000000-0000-4000-8000-000000000000";
