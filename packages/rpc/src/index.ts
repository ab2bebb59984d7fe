export { CallPacing } from "./call/call-pacing.js";
export { drainSessions } from "./http2/drain-sessions.js";
export { frameMessage, framePrefixBytes } from "./call/framing.js";
export type { OnCallEnd } from "./call/server-call.js";
export { GrpcServer } from "./call/grpc-server.js";
export { parseGrpcTimeout } from "./call/grpc-timeout.js";
export { defaultGrpcHeaders } from "./http2/http2-request-routing.js";
export { guardGrpcClients } from "./http2/guard-grpc-clients.js";
export { statusHeaders as statusTrailers } from "./http2/status-headers.js";
export { healthService } from "./services/health-service.js";
export type { ListenEndpoint } from "./port/listen-endpoint.js";
export { messageCodec, type GeneratedMessage } from "./call/message-codec.js";
export {
  bidiStreaming,
  serverStreaming,
  sharedUnary,
  unary,
  type Call,
  type Method,
  type ResponseStream,
} from "./call/method.js";
export type { PeerAccount } from "./http2/account.js";
export { PeerMemory } from "./limits/peer-memory.js";
export { defaultPeerMemoryBytes } from "./limits/peer-memory-budget.js";
export { serverMetrics, type ServerMetrics } from "./port/server-metrics.js";
export { ReadTurns } from "./limits/read-turns.js";
export { authorizationOf } from "./port/authorization-of.js";
export { requestPeer } from "./port/request-peer.js";
export { PortListener, type DropReason } from "./port/port-listener.js";
export type { WholeRequest } from "./http1/whole-request.js";
export type { WholeAnswer, WholeRequestHandler } from "./http1/whole-request-server.js";
export { ClientAuthorities } from "./tls/client-authorities.js";
export { tlsMetrics, type TlsMetrics } from "./tls/tls-metrics.js";
export { TlsCertificate } from "./tls/tls-certificate.js";
export { TlsTermination } from "./tls/tls-termination.js";
export { ReadinessHealth } from "./services/readiness-health.js";
export { reflectionService } from "./services/reflection-service.js";
export { accountOf, chargeAnswer } from "./limits/request-account.js";
export { StartQueue, type Starter } from "./limits/start-queue.js";
export {
  refusals,
  RpcError,
  statusCode,
  type RefusalReason,
  type RpcStatus,
  type StatusName,
} from "./status.js";
export type {
  GrpcHeaderRules,
  HeaderFields,
  PeerCertificate,
  TransportHandler,
  TransportSession,
  TransportStream,
} from "./transport.js";
