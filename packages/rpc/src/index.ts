export { drainSessions, type DrainOptions, type DrainReport } from "./drain-sessions.js";
export { frameMessage, framePrefixBytes } from "./framing.js";
export { GrpcServer, type GrpcServerOptions } from "./grpc-server.js";
export { healthService, type HealthSource } from "./health-service.js";
export { Http2Transport, type Http2TransportOptions } from "./http2-transport.js";
export { describeBindError, describeEndpoint, type ListenEndpoint } from "./listen-endpoint.js";
export { messageCodec, type GeneratedMessage, type MessageCodec } from "./message-codec.js";
export {
  bidiStreaming,
  serverStreaming,
  unary,
  type BidiStreamingMethod,
  type Call,
  type Method,
  type RequestListener,
  type ResponseStream,
  type ServerStreamingMethod,
  type UnaryMethod,
} from "./method.js";
export { PortListener, type DropReason, type PortListenerOptions } from "./port-listener.js";
export { ReadinessHealth } from "./readiness-health.js";
export { reflectionService } from "./reflection-service.js";
export type { KeepaliveOptions } from "./session-keepalive.js";
export { RpcError, statusCode, type RpcStatus, type StatusName } from "./status.js";
export {
  defaultTransportLimits,
  type ResetCode,
  type TransportHandler,
  type TransportLimits,
  type TransportSession,
  type TransportStream,
} from "./transport.js";
