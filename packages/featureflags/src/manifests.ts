export { flagFileExtensions } from "./manifest/flag-file-extensions.js";
export type {
  InvalidReason,
  Manifest,
  ManifestError,
  ManifestFlags,
  ManifestWarning,
  PlainTopic,
  WarningKind,
} from "./manifest/manifest.js";
export { maxManifestBytes } from "./manifest/manifest.js";
export { plainTopicOf } from "./manifest/plain-topic.js";
export { readManifest } from "./manifest/read-manifest.js";
