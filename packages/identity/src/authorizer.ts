import type { Identity } from "./identity.js";

/** Names a FeatureFlag. */
export interface TopicName {
  readonly namespace: string;
  readonly name: string;
}

/** Who a FeatureFlag is shared with, by its annotation: namespaces (`team-a`) and ServiceAccounts (`team-b/checkout`). */
export type Readers = ReadonlySet<string>;

export type Decision =
  | { readonly kind: "allowed" }
  /** `reason` completes a sentence: "… may not read …, because <reason>". */
  | { readonly kind: "denied"; readonly reason: string }
  /** It can't be found out for now; the caller may try again. Never instead of a denial that is known. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Decides who may read what. */
export interface Authorizer {
  /**
   * Whether an identity may read a topic. A promise only where something has to be asked for. It is called for each new subscription, and
   * about twice a minute for those that are open.
   */
  check(identity: Identity, topic: TopicName, readers?: Readers): Decision | Promise<Decision>;
  /** As `check`, but for a subscription that is open: its answer may not be as old. Absent: `check` is asked again. */
  recheck?(identity: Identity, topic: TopicName, readers?: Readers): Decision | Promise<Decision>;
}
