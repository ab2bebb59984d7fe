export { CallPacing } from "./call/call-pacing.js";
export { frameMessage, framePrefixBytes, frameToFill } from "./call/framing.js";
export { GrpcServer } from "./call/grpc-server.js";
export { parseGrpcTimeout } from "./call/grpc-timeout.js";
export { varintBytes, writeVarint } from "./call/varint.js";
export { maxUnfoldedBytes } from "./call/message-decompression.js";
export { messageCodec } from "./call/message-codec.js";
export {
  bidiStreaming,
  serverStreaming,
  sharedUnary,
  unary,
  type Call,
  type Method,
  type ResponseStream,
} from "./call/method.js";
export type { CallCounts } from "./call/server-call.js";
export { StartQueue, type Starter } from "./call/start-queue.js";
export { healthService } from "./services/health-service.js";
export { ReadinessHealth } from "./services/readiness-health.js";
export { reflectionService } from "./services/reflection-service.js";
// Ends of calls, and the streams that they are made of.
export {
  statusHeaders as statusTrailers,
  type CloseListener,
  type TransportSession,
  type TransportStream,
  type WriteListener,
} from "@bunting/http2";
export { RpcError, statusCode, type RpcStatus, type StatusName } from "@bunting/http2/status";
