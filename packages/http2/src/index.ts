export {
  streamBytes,
  type AccountBook,
  type EvictionListener,
  type OpenAccount,
  type PeerAccount,
} from "./account.js";
export { drainSessions } from "./drain-sessions.js";
export { HeldFrame, smallFrameBytes, type FrameHolder } from "./held-frame.js";
export { httpDate } from "./http-date.js";
export { defaultGrpcHeaders } from "./http2-request-routing.js";
export { Http2ServerTransport, type TransportEvents } from "./http2-transport.js";
export { callWriteListener } from "./outgoing.js";
export { peerAddress } from "./peer-address.js";
export { accountOf, chargeAnswer, setAccount, setShare, spendAnswer } from "./request-account.js";
export type { AdmissionReason } from "./session-admission.js";
export { SessionKeepalive, type KeepaliveOptions, type KeepaliveReason } from "./session-keepalive.js";
export type { SocketAccess } from "./socket-access.js";
export { SocketStall } from "./socket-stall.js";
export type { WatchedSession, WatchedStream } from "./stallable.js";
export { statusHeaders } from "./status-headers.js";
export {
  defaultTransportLimits,
  type CloseListener,
  type GrpcHeaderRules,
  type HeaderFields,
  type PeerCertificate,
  type StreamReceiver,
  type TransportHandler,
  type TransportLimits,
  type TransportSession,
  type TransportStream,
  type WriteListener,
} from "./transport.js";
export { answerBytesPerWork } from "./turn-share.js";
export type { TurnReader, SharedTurns, TurnShare } from "./turn-share.js";
