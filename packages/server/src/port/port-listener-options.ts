import type { RequestListener } from "node:http";
import type { Logger } from "@bunting/runtime";
import type {
  AdmissionReason,
  GrpcHeaderRules,
  KeepaliveOptions,
  KeepaliveReason,
  TransportHandler,
  TransportEvents,
  TransportLimits,
} from "@bunting/http2";
import type { WholeRequestHandler } from "../http1/whole-request-server.js";
import type { PeerMemory } from "../limits/peer-memory.js";
import type { ReadFairness } from "../limits/read-fairness.js";
import type { StallOptions } from "../limits/stall-watch.js";
import type { TlsTermination } from "../tls/tls-termination.js";
import type { ListenEndpoint } from "./listen-endpoint.js";

export interface PortListenerOptions extends Pick<
  TransportEvents,
  "onRefused" | "onReadingResumed" | "onStreamLimit"
> {
  readonly endpoint: ListenEndpoint;
  /** The option that sets the endpoint, for instance `--port`; named in the error if the port is taken. */
  readonly optionName?: string;
  readonly logger: Logger;
  /** Serves gRPC over HTTP/2. Without it the port speaks HTTP/1.1 only. */
  readonly grpc?: TransportHandler;
  /** Serves HTTP/1.1, and requests over HTTP/2 that are not gRPC. Without it the port speaks gRPC only. */
  readonly http?: RequestListener;
  /** Answers requests over HTTP/1.1 that arrive whole, if they are of its kind; `http` gets all others. */
  readonly wholeRequests?: WholeRequestHandler | undefined;
  /** Decides which HTTP/2 requests are gRPC; default: by their content type. */
  readonly grpcHeaders?: GrpcHeaderRules | undefined;
  /** Decides whether clients must or may speak TLS; absent: they must not. */
  readonly tls?: TlsTermination | undefined;
  readonly limits?: Partial<TransportLimits>;
  /** True: a call counts as served once its service has called `admit` of its stream. */
  readonly admitsLater?: boolean | undefined;
  /** Memory budget of peers; one for all ports of the process. Absent: no bound. */
  readonly memory?: PeerMemory | undefined;
  /** Bounds the work in a turn of the event loop; default: a bound of this port alone. */
  readonly turns?: ReadFairness | undefined;
  /**
   * Time for the headers of an HTTP/1.1 request; default 3 s. A client that has not begun one has ten times as long where the port has more than
   * one protocol, unless many are silent; else `idleTimeoutMs`.
   */
  readonly headerTimeoutMs?: number;
  /** Time for an HTTP/1.1 request to arrive; default 30 s. */
  readonly requestTimeoutMs?: number;
  /** Time that a connection over HTTP/1.1 may be idle, before a request as between two; default 60 s. Where clients pool them, longer than they do: a request may be lost on one that is being closed. */
  readonly idleTimeoutMs?: number;
  /** Drops connections whose peer vanished without closing: default PING after 60 s of silence, drop 20 s later. */
  readonly keepalive?: KeepaliveOptions | undefined;
  /** Ends streams and connections whose peer does not read: default after 60 s. */
  readonly stall?: StallOptions | undefined;
  /** Called for each connection that this end drops, with the reason; for `tls`, `certificate` and slow readers with one of a closed set of sentences, and the peer's address. */
  readonly onDropped?: (reason: DropReason, detail?: string, peer?: string) => void;
}

/**
 * `silent`: the keepalive got no answer. `stalled`: the peer took nothing of what it was sent. `flood`: too many PING or SETTINGS frames.
 * `protocol_error`: the peer violated HTTP/2. `memory`: the memory budget is used up. `headers`: a request over HTTP/1.1 has too large ones.
 * `settings`: the peer did not acknowledge SETTINGS. `idle`: the connection had no stream that is served for too long. `unfinished_headers`: a header block over HTTP/2 did not end. `tls`: a handshake failed, or
 * the client spoke plaintext to a port with TLS or the reverse. `certificate`: that of the client has expired, or is no longer trusted.
 */
export type DropReason =
  | "stalled"
  | "flood"
  | "protocol_error"
  | "headers"
  | "tls"
  | "certificate"
  | AdmissionReason
  | KeepaliveReason;
