/** What commands need to read their options. The package's main entry also loads the logger and the metrics, which take longer than a short command runs. */
export { CodedError } from "./coded-error.js";
export { cut, cutToBytes } from "./cut.js";
export { errorCode } from "./error-code.js";
export { completeOptions } from "./options/complete-options.js";
export { kubeconfigOptions, serviceAccountOption } from "./options/kubeconfig-options.js";
export { serviceOptions } from "./options/service-options.js";
export {
  flagName,
  option,
  optionGroup,
  publicOptions,
  type OptionSpec,
  type OptionsOf,
  type OptionTable,
} from "./options/option.js";
export { readOptions } from "./options/read-options.js";
export { renderHelp } from "./options/render-help.js";
export { renderOptionsReference } from "./options/render-reference.js";
export { nearestWord } from "./options/nearest-word.js";
export { suggestFlag } from "./options/suggest-flag.js";
export {
  byteSize,
  byteSizeOrAuto,
  choice,
  duration,
  integer,
  list,
  mapping,
  port,
  text,
  toggle,
  type ValueType,
} from "./options/value-types.js";
export { processSignals } from "./process-signals.js";
export { quoted } from "./quoted.js";
export { RuntimeError } from "./runtime-error.js";
