/** Messages of gRPC in their frames, for programs that need no server. */
export { frameMessage } from "./call/framing.js";
export { MessageDeframer } from "./call/message-deframer.js";
export { statusCode } from "@bunting/http2/status";
