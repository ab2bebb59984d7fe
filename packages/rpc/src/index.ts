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
export { RpcError, statusCode, type RpcStatus, type StatusName } from "./status.js";
export {
  defaultTransportLimits,
  type ResetCode,
  type TransportHandler,
  type TransportLimits,
  type TransportSession,
  type TransportStream,
} from "./transport.js";
