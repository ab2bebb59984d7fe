/** What the API server is asked about callers. */
export type ReviewKindName = "access" | "token" | "pod" | "page";

/** Pages of the management port that can need an identity. */
export type PagePath = "/metrics" | "/status";

/** The metrics of who is let in. Reasons and results are from closed sets. */
export interface AccessMetrics {
  /** A stream or call was let in, by what its identity was concluded from: `bunting_proxy_access_admitted_total{identity}`. */
  admitted(identity: "token" | "certificate" | "pod-ip" | "anonymous"): void;
  /** A caller's identity was not accepted: `bunting_proxy_access_refused_identities_total{reason}`. */
  identityRefused(reason: string): void;
  /** An identity may not read a topic, or that can't be found out: `bunting_proxy_access_refused_topics_total{reason}`. */
  topicRefused(reason: "denied" | "unavailable"): void;
  /** An identity may not read a page, or that can't be found out: `bunting_proxy_access_refused_pages_total{path,reason}`. */
  pageRefused(path: PagePath, reason: "denied" | "unavailable"): void;
  /** An open stream or subscription was ended: `bunting_proxy_access_ended_total{reason}`. */
  accessEnded(reason: "expired" | "identity" | "permission"): void;
  /** Identities with open streams that began (1) or stopped (-1) to be watched: `bunting_proxy_access_identities`. */
  watchedIdentities(delta: number): void;
  /** A token was verified: `bunting_proxy_access_token_verifications_total{result}`. */
  tokenVerified(result: "verified" | "cached" | "refused"): void;
  /** Verified tokens that are cached: `bunting_proxy_access_cached_tokens`. */
  cachedTokens(count: number): void;
  /** The keys of tokens were read: `bunting_proxy_access_key_reads_total{result}`. */
  keysRead(result: "read" | "failed"): void;
  /** The API server was asked about a caller: `bunting_proxy_access_reviews_total{kind,result}`. */
  reviewed(kind: ReviewKindName, result: "granted" | "refused" | "failed"): void;
  /** Its answers that are remembered: `bunting_proxy_access_cached_reviews{kind}`. */
  cachedReviews(kind: ReviewKindName, count: number): void;
}
