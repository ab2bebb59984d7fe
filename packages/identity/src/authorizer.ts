import type { Identity } from "./identity.js";

/** Names a FeatureFlag. */
export interface TopicName {
  readonly namespace: string;
  readonly name: string;
}

/** Readers that a FeatureFlag's annotation shares it with: namespaces (`team-a`) and ServiceAccounts (`team-b/checkout`). */
export type TopicReaders = ReadonlySet<string>;

export type Decision =
  | { readonly kind: "allowed" }
  /** `reason` completes a sentence: "… may not read …, because <reason>". */
  | { readonly kind: "denied"; readonly reason: string }
  /** No decision can be made for now; the caller may try again. A known denial is never reported so. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Decides which identities may read which topics. */
export interface Authorizer {
  /**
   * Decides whether an identity may read a topic; called for each new subscription, and about twice a minute for open ones.
   * Returns a promise only where the API server has to be asked.
   */
  check(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision | Promise<Decision>;
  /** As `check`, with a shorter TTL, for an open subscription. Absent: `check` is called again. */
  recheck?(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision | Promise<Decision>;
  /**
   * Decides at once, before an open subscription is sent a new version, whether it still has a reason to be open. Asks nothing:
   * `unavailable` says that only an answer of the API server, which there is not, could be that reason.
   */
  holds(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision;
}
