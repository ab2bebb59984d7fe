import {
  choice,
  duration,
  list,
  option,
  optionGroup,
  text,
  toggleOption,
  textOption,
} from "@bunting/runtime";

/** The options of access: callers, and the topics that they may read. */
export const accessOptionTable = optionGroup("Who may read", {
  auth: option(
    choice("anonymous", "optional", "token", "pod-ip"),
    "anonymous",
    "Who is served: anonymous everyone; token those who present a projected ServiceAccount token (authorization: Bearer) or a client certificate that names a ServiceAccount; optional both, and everyone who presents nothing; pod-ip those whose address is that of a Pod, for stock sidecars.",
  ),
  authAudience: option(text, "bunting", "The audience that tokens have to be for; others are refused."),
  authIssuer: option(
    list,
    [],
    "Accepted issuers of tokens; if not given, the one that the API server names (/.well-known/openid-configuration).",
  ),
  authJwksFile: textOption(
    "File with the JSON Web Key Set that tokens are verified with; if not given, that of the API server (/openid/v1/jwks). It needs --auth-issuer, and is read again every 5 minutes and for unknown keys.",
  ),
  authCertificateUri: option(
    text,
    "spiffe://cluster.local/ns/{namespace}/sa/{serviceAccount}",
    "Form of the URI among a client certificate's alternative names that names its ServiceAccount; the trust domain is a part of it.",
  ),
  authRecheck: option(
    duration({ minMs: 1_000, maxMs: 60_000, zero: "use 1m for the fewest questions" }),
    20_000,
    "How often it is looked whether the identities and permissions of open streams still hold; the API server is asked every other time, and for Pods every sixth.",
  ),
  tokenReview: toggleOption(
    "Also asks the API server about each token (TokenReview), so that tokens end with their Pod and ServiceAccount.",
  ),
  authorize: option(
    choice("auto", "own-namespace", "rbac", "all"),
    "auto",
    "What callers with an identity may read: own-namespace the FeatureFlags of their namespace, and those that the annotation bunting.dev/readers shares with them; rbac those that RBAC lets their ServiceAccount get (SubjectAccessReview), and shared ones; all everything. auto is own-namespace, unless --auth=anonymous.",
  ),
  managementAuth: option(
    choice("off", "identity", "rbac"),
    "off",
    "Who may read /metrics: off everyone; identity callers with an identity, by token, certificate or address as on the sync port; rbac those whose ServiceAccount RBAC lets get the nonResourceURL. With --status=all the same counts for /status from anywhere but loopback, which needs an identity unless --auth=anonymous. Probes are always answered.",
  ),
});
