/** What can be known of the options without the client of Redis, which is loaded only where it is used. */
export { BackplaneError } from "./backplane-error.js";
export { checkOptions, type BackplaneOptions, type CheckedOptions } from "./backplane-options.js";
