/** What commands need to read their options. The package's main entry also loads the logger and the metrics, which take longer than a short command runs. */
export { CodedError } from "./coded-error.js";
export { cut, cutToBytes } from "./cut.js";
export { errorCode, isShortage, messageOf, releaseFrames, unexpectedFailure } from "./error-code.js";
export { hostAndPort } from "./host-and-port.js";
export { completeOptions } from "./options/complete-options.js";
export { kubeconfigOptions } from "./options/kubeconfig-options.js";
export {
  flagName,
  option,
  optionGroup,
  textOption,
  toggleOption,
  type OptionSpec,
  type OptionsOf,
  type OptionTable,
} from "./options/option.js";
export { renderHelp } from "./options/render-help.js";
export { didYouMean, nearestWord } from "./options/nearest-word.js";
export { suggestFlag } from "./options/suggest-flag.js";
export {
  byteSizeOrAuto,
  choice,
  duration,
  integer,
  list,
  mapping,
  parseDuration,
  text,
  toggle,
} from "./options/value-types.js";
export { processSignals } from "./process-signals.js";
export { quoted } from "./quoted.js";
export { withTimeLimit } from "./time-limit.js";
