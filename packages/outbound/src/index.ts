export { AddressGuard } from "./address-guard.js";
export { calledHost, parseAllowedHost, type AllowedHost } from "./allowed-host.js";
export { allowedHosts, hostForms } from "./allowed-hosts-option.js";
export { parseNetwork, type Network } from "./network.js";
export { ownAddresses } from "./own-addresses.js";
export { isNestedDeeper } from "./json-depth.js";
export { OutboundClient, type OutboundAnswer } from "./outbound-request.js";
