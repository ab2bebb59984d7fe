export { proxyOptionTable, type ProxyOptions } from "./options.js";
export { createProxy, type Proxy } from "./proxy.js";
export { ProxyError, type ProxyErrorCode } from "./proxy-error.js";
