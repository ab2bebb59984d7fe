/** The part of the package that needs no client of Redis, which is loaded only where it is used. */
export { BackplaneError } from "./backplane-error.js";
export { checkOptions, type CheckedOptions } from "./backplane-options.js";
