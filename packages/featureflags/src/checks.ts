export { checkDocument, type CheckOptions } from "./check/check-document.js";
export { checkFeatureFlag, checkingFeatureFlag, remoteFindings } from "./check/check-feature-flag.js";
export { checkInProcessSpec, checkSourceSpec, flagsOfSource } from "./check/check-source.js";
export { checkSourceValues } from "./check/check-source-values.js";
export { checkStoredFlags } from "./check/check-stored-flags.js";
export { kindOfError, kindOfWarning } from "./check/finding-kinds.js";
export type { Finding, FindingKind, Severity } from "./check/finding.js";
