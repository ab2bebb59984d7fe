import { counter, defineMetrics, gauge, label, upDownCounter, type MetricsOf } from "@bunting/runtime";

/** What the API server is asked about callers. */
const reviewKinds = ["access", "token", "pod", "page"] as const;
export type ReviewKindName = (typeof reviewKinds)[number];

/** Pages of the management port that can need an identity. */
export type PagePath = "/metrics" | "/status";

/** The metrics of who is let in, and who is not. */
export const accessMetrics = defineMetrics({
  admitted: counter(
    "bunting_proxy_access_admitted_total",
    "Streams and calls that were let in, by what the caller's identity was concluded from: token, certificate, pod-ip, or anonymous (--auth=optional). Not counted with --auth=anonymous.",
    label("identity", "token", "certificate", "pod-ip", "anonymous"),
  ),
  identityRefused: counter(
    "bunting_proxy_access_refused_identities_total",
    "Streams and calls that were refused because of who calls, by reason: docs/reference/errors.md lists them under IdentityError.",
    label<string>("reason"),
  ),
  topicRefused: counter(
    "bunting_proxy_access_refused_topics_total",
    "Subscriptions that were refused or ended because of what the caller may read, by reason: denied, or unavailable (it could not be found out).",
    label("reason", "denied", "unavailable"),
  ),
  pageRefused: counter(
    "bunting_proxy_access_refused_pages_total",
    "Requests to the management port that were refused because of what RBAC lets their sender read (--management-auth=rbac), by path and by reason: denied, or unavailable (it could not be found out).",
    label<PagePath>("path", "/metrics", "/status"),
    label("reason", "denied", "unavailable"),
  ),
  accessEnded: counter(
    "bunting_proxy_access_ended_total",
    "Open streams and subscriptions that were ended, by reason: expired (the credential), identity (it is no longer accepted), permission (it was taken away).",
    label("reason", "expired", "identity", "permission"),
  ),
  watchedIdentities: upDownCounter(
    "bunting_proxy_access_identities",
    "Identities that have open streams; each token counts as one.",
  ),
  tokenVerified: counter(
    "bunting_proxy_access_token_verifications_total",
    "Tokens that were presented, by result: verified, cached (verified before), refused.",
    label("result", "verified", "cached", "refused"),
  ),
  cachedTokens: gauge(
    "bunting_proxy_access_cached_tokens",
    "Verified tokens that are remembered, by their digest.",
  ),
  keysRead: counter(
    "bunting_proxy_access_key_reads_total",
    "Reads of the keys that sign tokens, by result: read or failed.",
    label("result", "read", "failed"),
  ),
  reviewed: counter(
    "bunting_proxy_access_reviews_total",
    "Questions to the API server about callers, by kind: access (--authorize=rbac), token (--token-review), pod (--auth=pod-ip), page (--management-auth=rbac); and by result: granted, refused, failed (it did not answer; it is asked again).",
    label("kind", ...reviewKinds),
    label("result", "granted", "refused", "failed"),
  ),
  cachedReviews: gauge(
    "bunting_proxy_access_cached_reviews",
    "Answers of the API server about callers that are remembered, by kind as for the questions.",
    label<ReviewKindName>("kind"),
  ),
});
export type AccessMetrics = MetricsOf<typeof accessMetrics>;
