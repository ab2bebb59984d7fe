/** Parts of node that guards of clients need, for programs without a server. */
export { interceptRequests, nativeSessionOf, replaceConnect } from "./node-internals/client-sessions.js";
export { interceptPush } from "./node-internals/intercept-push.js";
