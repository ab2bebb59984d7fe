export { BackplaneError, type BackplaneErrorCode } from "./backplane-error.js";
export { checkOptions, type BackplaneOptions, type CheckedOptions } from "./backplane-options.js";
