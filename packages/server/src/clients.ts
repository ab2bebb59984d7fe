/** What guards of clients need of node, for programs that need no server. */
export { interceptRequests, nativeSessionOf, replaceConnect } from "./node-internals/client-sessions.js";
export { interceptPush } from "./node-internals/intercept-push.js";
