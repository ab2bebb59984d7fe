import { allowedHosts, hostForms } from "@bunting/outbound/hosts";
import {
  choice,
  duration,
  jsonText,
  list,
  longestMs,
  option,
  optionGroup,
  serviceAccountOption,
  textOption,
  toggleOption,
} from "@bunting/runtime";

export const sourceGroup = "Where flags come from";

/** The options of the sources of flags, and of the flags whose source is absent, stale or deleted. */
export const sourceOptions = optionGroup(sourceGroup, {
  uri: option(
    list,
    [],
    "Sources of flags: file:PATH, dir:PATH, grpc://HOST:PORT, grpcs://HOST:PORT, https://HOST/PATH, or core.openfeature.dev/NAMESPACE/NAME for a FeatureFlag; a later source wins over an earlier one.",
    { short: "f", env: ["FLAGD_URI"] },
  ),
  sources: option(
    jsonText,
    "",
    'Sources as a JSON list: [{"uri":"proxy:8015","provider":"grpc","selector":"namespace/name"}].',
    { short: "s", formerNames: ["sync-provider", "bearer-token"], env: ["FLAGD_SOURCES"] },
  ),
  remoteHosts: option(
    allowedHosts,
    [],
    `Hosts that sources of provider remote may name, which this agent then calls: ${hostForms("flags.example.com")}. If empty, none is called, and such sources have the flags of their file only.`,
    { env: ["BUNTING_REMOTE_HOSTS"] },
  ),
  tokenFile: textOption(
    "A file with the token that proves to a proxy who the agent is, such as a projected ServiceAccount token; it is read again when it changes. This and the next three options apply to sources of provider grpc whose selector names a FeatureFlag, unless the source has its own. Over TLS the token is sent only to servers that --ca-file verifies.",
    { env: ["BUNTING_TOKEN_FILE", "FLAGD_BUNTING_TOKEN_FILE"] },
  ),
  caFile: textOption(
    "A file with the certificates of the authorities that the proxy's certificate must come from, in PEM. With it, or a client certificate, these sources use TLS. It is read for each connection.",
    { env: ["BUNTING_CA_FILE", "FLAGD_BUNTING_CA_FILE"] },
  ),
  clientCertFile: textOption(
    "A file with the certificate that the agent presents to the proxy, in PEM. It is read for each connection.",
    { env: ["BUNTING_CLIENT_CERT_FILE", "FLAGD_BUNTING_CLIENT_CERT_FILE"] },
  ),
  clientKeyFile: textOption(
    "A file with the private key of that certificate, in PEM and without a password.",
    { env: ["BUNTING_CLIENT_KEY_FILE", "FLAGD_BUNTING_CLIENT_KEY_FILE"] },
  ),
  tokenOverPlaintext: toggleOption(
    "Sends tokens of grpc sources over connections in plaintext too, where whoever can read the traffic can use them; for networks that encrypt it.",
    { env: ["BUNTING_TOKEN_OVER_PLAINTEXT", "FLAGD_BUNTING_TOKEN_OVER_PLAINTEXT"] },
  ),
  instance: textOption(
    "What the agent is called among those that ask a proxy for the same flags. By this name the proxy chooses who is the first to get a version that is pushed progressively; if empty, it is the name of the host, which in a Pod is the Pod's.",
    { group: sourceGroup, env: ["BUNTING_INSTANCE"] },
  ),
  cacheDir: textOption(
    "A directory for the last-known-good copies of each source's flags, to start from while the source is unreachable. One directory for each agent; if empty, no copies are kept.",
  ),
  sourceList: textOption(
    "Which list of FeatureFlags the agent follows, as the operator writes it: NAMESPACE/TEXT@FRAME:BEFORE:AFTER. A proxy that knows the list tells which FeatureFlags it has, and the agent takes these in place of those that its sources name, without a restart.",
  ),
  staleAfter: option(
    duration({ minMs: 1, maxMs: longestMs, zero: "off" }),
    0,
    "After how long without contact to a source, or with its newest document refused, the values of its flags are answered with reason STALE, until it confirms or replaces them; 0 never does so.",
  ),
  startWait: option(
    duration({ minMs: 1, maxMs: longestMs, zero: "off" }),
    0,
    "How long /healthz answers 412 while sources have not answered. As the startup probe of a sidecar it has applications start with flags; a source that is away delays them by this time, and no longer. With 0, /healthz answers 200 from the start.",
  ),
  readyAfter: option(
    duration({ minMs: 1, maxMs: longestMs, zero: "off" }),
    0,
    "After how long /readyz answers 200 although sources have not answered, and says so, so that an outage blocks no rollout. With 0, the agent is not ready before every source has answered.",
  ),
  ...serviceAccountOption(sourceGroup, ", for sources of provider kubernetes"),
  deletionPolicy: option(
    choice("keep", "empty"),
    "keep",
    "What becomes of the flags of a FeatureFlag that is deleted, with provider kubernetes: keep still serves them, empty serves none. With provider grpc, the proxy decides.",
  ),
  deletionGrace: option(
    duration({ minMs: 0, maxMs: longestMs, zero: "off" }),
    60_000,
    "How long the flags of a deleted FeatureFlag are served before the deletion policy applies; 0 applies it at once.",
  ),
});
