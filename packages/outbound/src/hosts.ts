export { parseAllowedHost, type AllowedHost } from "./allowed-host.js";
export { allowedHosts, hostForms } from "./allowed-hosts-option.js";
