export { CallPacing } from "./call-pacing.js";
export { drainSessions } from "./drain-sessions.js";
export { frameMessage, framePrefixBytes } from "./framing.js";
export { GrpcServer } from "./grpc-server.js";
export { healthService } from "./health-service.js";
export type { ListenEndpoint } from "./listen-endpoint.js";
export { messageCodec, type GeneratedMessage } from "./message-codec.js";
export {
  bidiStreaming,
  serverStreaming,
  sharedUnary,
  unary,
  type Call,
  type Method,
  type ResponseStream,
} from "./method.js";
export { PeerMemory, type PeerAccount } from "./peer-memory.js";
export { defaultPeerMemoryBytes } from "./peer-memory-budget.js";
export { ReadTurns } from "./read-turns.js";
export { PortListener, type DropReason } from "./port-listener.js";
export { ReadinessHealth } from "./readiness-health.js";
export { reflectionService } from "./reflection-service.js";
export { accountOf, chargeAnswer } from "./request-account.js";
export { StartQueue, type Starter } from "./start-queue.js";
export { RpcError, statusCode, type RpcStatus, type StatusName } from "./status.js";
export type { TransportSession, TransportStream } from "./transport.js";
