export { answerPage } from "./exchange/answer-page.js";
export { CallerTokens } from "./exchange/caller-tokens.js";
export { etagOf, isNoneMatchFor } from "./exchange/etag.js";
export {
  HttpExchange,
  type Callers,
  type Cors,
  type ExchangeMetrics,
  type HttpExchangeOptions,
  type HttpRequestRecord,
} from "./exchange/http-exchange.js";
export { LongRequestQueue, longRequestBytes } from "./exchange/long-request-queue.js";
export { readBody } from "./exchange/request-body.js";
export { PeerMemory } from "./limits/peer-memory.js";
export { defaultPeerMemoryBytes } from "./limits/peer-memory-budget.js";
export { ReadFairness } from "./limits/read-fairness.js";
export type { WholeRequest } from "./http1/whole-request.js";
export type { WholeAnswer, WholeRequestHandler } from "./http1/whole-request-server.js";
export { authorizationOf } from "./port/authorization-of.js";
export type { ListenEndpoint } from "./port/listen-endpoint.js";
export { outsideReason } from "./port/outside-reason.js";
export { PortListener } from "./port/port-listener.js";
export type { DropReason, PortListenerOptions } from "./port/port-listener-options.js";
export { requestPeer } from "./port/request-peer.js";
export { sameEndpoint } from "./port/same-endpoint.js";
export { serverMetrics } from "./port/server-metrics.js";
export { ClientAuthorities } from "./tls/client-authorities.js";
export { TlsCertificate, type CertificatePair } from "./tls/tls-certificate.js";
export { tlsMetrics, type TlsMetrics } from "./tls/tls-metrics.js";
export { TlsTermination } from "./tls/tls-termination.js";
// The engine, as services see it, without calls.
export {
  accountOf,
  chargeAnswer,
  defaultGrpcHeaders,
  drainSessions,
  HeldFrame,
  smallFrameBytes,
  spendAnswer,
  type FrameHolder,
  type GrpcHeaderRules,
  type HeaderFields,
  type PeerAccount,
  type TransportHandler,
} from "@bunting/http2";
export { refusals, type RefusalReason } from "@bunting/http2/status";
