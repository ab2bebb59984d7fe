export { flagFileExtensions, isFlagFileName } from "./manifest/flag-file-names.js";
export type {
  Manifest,
  ManifestError,
  ManifestFlags,
  ManifestWarning,
  PlainTopic,
} from "./manifest/manifest.js";
export { maxManifestBytes } from "./manifest/manifest.js";
export type { InvalidReason, ObjectFlags, WarningKind } from "./manifest/object-reading.js";
export { plainTopicOf } from "./manifest/flag-file-names.js";
export { readManifest } from "./manifest/read-manifest.js";
