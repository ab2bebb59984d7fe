import { Counter, Gauge, type Registry } from "@bunting/runtime";
import type { AccessMetrics } from "../access/access-metrics.js";

/** The metrics of who is let in, and who is not. */
export function accessMetrics(registry: Registry): AccessMetrics {
  const registers = [registry];
  const admitted = new Counter({
    name: "bunting_proxy_access_admitted_total",
    help: "Streams and calls that were let in, by what the caller's identity was concluded from: token, certificate, pod-ip, or anonymous (--auth=optional). Not counted with --auth=anonymous.",
    labelNames: ["identity"],
    registers,
  });
  const refusedIdentities = new Counter({
    name: "bunting_proxy_access_refused_identities_total",
    help: "Streams and calls that were refused because of who calls, by reason: docs/reference/errors.md lists them under IdentityError.",
    labelNames: ["reason"],
    registers,
  });
  const refusedTopics = new Counter({
    name: "bunting_proxy_access_refused_topics_total",
    help: "Subscriptions that were refused or ended because of what the caller may read, by reason: denied, or unavailable (it could not be found out).",
    labelNames: ["reason"],
    registers,
  });
  const refusedPages = new Counter({
    name: "bunting_proxy_access_refused_pages_total",
    help: "Requests to the management port that were refused because of what RBAC lets their sender read (--management-auth=rbac), by path and by reason: denied, or unavailable (it could not be found out).",
    labelNames: ["path", "reason"],
    registers,
  });
  const ended = new Counter({
    name: "bunting_proxy_access_ended_total",
    help: "Open streams and subscriptions that were ended, by reason: expired (the credential), identity (it is no longer accepted), permission (it was taken away).",
    labelNames: ["reason"],
    registers,
  });
  const identities = new Gauge({
    name: "bunting_proxy_access_identities",
    help: "Identities that have open streams; each token counts as one.",
    registers,
  });
  const verifications = new Counter({
    name: "bunting_proxy_access_token_verifications_total",
    help: "Tokens that were presented, by result: verified, cached (verified before), refused.",
    labelNames: ["result"],
    registers,
  });
  const cachedTokens = new Gauge({
    name: "bunting_proxy_access_cached_tokens",
    help: "Verified tokens that are remembered, by their digest.",
    registers,
  });
  const keyReads = new Counter({
    name: "bunting_proxy_access_key_reads_total",
    help: "Reads of the keys that sign tokens, by result: read or failed.",
    labelNames: ["result"],
    registers,
  });
  const reviews = new Counter({
    name: "bunting_proxy_access_reviews_total",
    help: "Questions to the API server about callers, by kind: access (--authorize=rbac), token (--token-review), pod (--auth=pod-ip), page (--management-auth=rbac); and by result: granted, refused, failed (it did not answer; it is asked again).",
    labelNames: ["kind", "result"],
    registers,
  });
  const cachedReviews = new Gauge({
    name: "bunting_proxy_access_cached_reviews",
    help: "Answers of the API server about callers that are remembered, by kind as for the questions.",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of ["access", "token", "pod", "page"])
    for (const result of ["granted", "refused", "failed"]) reviews.inc({ kind, result }, 0);
  for (const identity of ["token", "certificate", "pod-ip", "anonymous"]) admitted.inc({ identity }, 0);
  for (const reason of ["denied", "unavailable"]) refusedTopics.inc({ reason }, 0);
  for (const path of ["/metrics", "/status"])
    for (const reason of ["denied", "unavailable"]) refusedPages.inc({ path, reason }, 0);
  for (const reason of ["expired", "identity", "permission"]) ended.inc({ reason }, 0);
  for (const result of ["verified", "cached", "refused"]) verifications.inc({ result }, 0);
  for (const result of ["read", "failed"]) keyReads.inc({ result }, 0);
  return {
    admitted: (identity) => admitted.inc({ identity }),
    identityRefused: (reason) => refusedIdentities.inc({ reason }),
    topicRefused: (reason) => refusedTopics.inc({ reason }),
    pageRefused: (path, reason) => refusedPages.inc({ path, reason }),
    accessEnded: (reason) => ended.inc({ reason }),
    watchedIdentities: (delta) => identities.inc(delta),
    tokenVerified: (result) => verifications.inc({ result }),
    cachedTokens: (count) => cachedTokens.set(count),
    keysRead: (result) => keyReads.inc({ result }),
    reviewed: (kind, result) => reviews.inc({ kind, result }),
    cachedReviews: (kind, count) => cachedReviews.set({ kind }, count),
  };
}
