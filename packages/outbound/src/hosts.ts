export { parseAllowedHost, type AllowedHost } from "./allowed-host.js";
