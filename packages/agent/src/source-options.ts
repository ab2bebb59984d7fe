import { choice, duration, jsonText, list, longestMs, option, text } from "@bunting/runtime";

export const sourceGroup = "Where flags come from";

/** The options of where flags come from, and of what becomes of them. */
export const sourceOptions = {
  uri: option({
    type: list,
    default: [],
    short: "f",
    describe:
      "Sources of flags: file:PATH, grpc://HOST:PORT, grpcs://HOST:PORT, https://HOST/PATH, or core.openfeature.dev/NAMESPACE/NAME for a FeatureFlag; a later source wins over an earlier one.",
    group: sourceGroup,
    env: ["FLAGD_URI"],
  }),
  sources: option({
    type: jsonText,
    default: "",
    short: "s",
    describe: 'Sources as a JSON list: [{"uri":"proxy:8015","provider":"grpc","selector":"namespace/name"}].',
    group: sourceGroup,
    env: ["FLAGD_SOURCES"],
  }),
  cacheDir: option({
    type: text,
    default: "",
    describe:
      "A directory for the last-known-good copies of each source's flags, to start from while the source is unreachable; if empty, no copies are kept.",
    group: sourceGroup,
    env: ["BUNTING_CACHE_DIR"],
  }),
  serviceAccountDirectory: option({
    type: text,
    default: "",
    describe:
      "Directory with token, ca.crt and namespace of the Pod's ServiceAccount, for sources of provider kubernetes; if empty, /var/run/secrets/kubernetes.io/serviceaccount.",
    group: sourceGroup,
    env: ["BUNTING_SERVICE_ACCOUNT_DIRECTORY"],
  }),
  deletionPolicy: option({
    type: choice("keep", "empty"),
    default: "keep",
    describe:
      "What becomes of the flags of a FeatureFlag that is deleted, with provider kubernetes: keep still serves them, empty serves none. With provider grpc, the proxy decides.",
    group: sourceGroup,
    env: ["BUNTING_DELETION_POLICY"],
  }),
  deletionGrace: option({
    type: duration({ minMs: 0, maxMs: longestMs, zero: "off" }),
    default: 60_000,
    describe:
      "How long the flags of a deleted FeatureFlag are served before the deletion policy applies; 0 applies it at once.",
    group: sourceGroup,
    env: ["BUNTING_DELETION_GRACE"],
  }),
} as const;
