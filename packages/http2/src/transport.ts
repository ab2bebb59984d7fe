import type { PeerAccount } from "./account.js";
import type { RefusalReason, RpcStatus } from "./status.js";

/**
 * The seam between gRPC and the HTTP/2 engine. A call passes these files, in this order:
 *
 * - in `server`, `port/port-listener.ts` accepts the connection, and `port/preface-sniffer.ts` finds out whether it speaks HTTP/2 or
 *   HTTP/1.1 (`http1/`) or TLS, which `tls/tls-termination.ts` takes off it;
 * - here, `http2-transport.ts` is the engine: one `http2-session.ts` for each connection, one `http2-stream.ts` for each gRPC request;
 * - the interfaces of this file, which are all that the rest sees of the engine;
 * - in `rpc`, `call/grpc-server.ts` finds the method by its path;
 * - `call/unary-call.ts` or `streaming-call.ts`, on top of `server-call.ts`, cut the request into messages and keep the deadline;
 * - `call/method.ts` decodes each message and calls the handler of a service, whose response goes back the same way. `services/` has the
 *   services that every server offers: health and reflection.
 *
 * Another engine can replace ours without any change to a service, as ours has replaced node:http2. An engine is responsible for HTTP/2
 * framing, flow control and limits; it knows no message types.
 *
 * What peers may cost is bounded in `limits/` of `server`: the memory held because of them (`peer-memory.ts`), answers that are not read
 * (`stall-watch.ts`), and the time of the event loop (`read-fairness.ts`, and `start-queue.ts` of `rpc`).
 */

/** Why a stream is cut off without trailers. REFUSED_STREAM is what clients read as UNAVAILABLE; CANCEL would stop .NET for good. */
export type ResetCode =
  "REFUSED_STREAM" | "CANCEL" | "INTERNAL_ERROR" | "ENHANCE_YOUR_CALM" | "PROTOCOL_ERROR";

/** One request stream, on the server's side. All methods may be called after the stream has closed; they then do nothing. */
export interface TransportStream {
  readonly session: TransportSession;
  /** `:path`, for instance `/flagd.sync.v1.FlagSyncService/SyncFlags`. */
  readonly path: string;
  /** False once the stream has ended in any way. */
  readonly isOpen: boolean;
  /** True once response headers were sent. */
  readonly hasResponded: boolean;
  /**
   * Reports that a service serves this stream. On a port with `admitsLater`, a connection without such a stream counts as idle: what peers open
   * that have proven nothing must not keep others out. On other ports, the engine admits each stream itself.
   */
  admit(): void;
  /** A request header by its lower-case name; the first value where there are several. */
  header(name: string): string | undefined;
  /** Sends `:status: 200` with the given response headers, once. */
  respond(headers?: Readonly<Record<string, string>>): void;
  /**
   * Queues one complete gRPC frame (5-byte prefix included), which is charged to the session's account until the peer has taken it.
   * `onWritten` is called exactly once: without an error when flow control has let the last byte pass, with an error if the stream ended
   * first. A stream whose peer takes nothing of what is queued is reset after the stall timeout.
   */
  write(frame: Uint8Array, onWritten?: WriteListener): void;
  /**
   * Queues a frame that others hold as well, and that is therefore not charged. The engine keeps a reference and never modifies the frame,
   * so any number of streams may share it. Callers that fan out keep one frame in flight and take the newest in `onWritten`.
   */
  writeShared(frame: Uint8Array, onWritten?: WriteListener): void;
  /**
   * Ends the stream with trailers (trailers-only if nothing was sent yet). Trailers queue behind frames that flow control holds
   * back: a stalled stream ends only when its peer reads on, or by `reset`.
   */
  end(status: RpcStatus): void;
  /** Ends the stream at once and drops everything queued. */
  reset(code: ResetCode): void;
  /** Delivers request bytes as they arrive, then the end when the client half-closes. Until it is called, which is once, they wait. */
  receive(receiver: StreamReceiver): void;
  /**
   * Delivers no more request bytes until `resumeReading`: flow control then holds the client back, at its stream's window (64 KB) at the latest.
   * A chunk that is being delivered is delivered whole. `end` resumes reading, and what then comes is to be ignored.
   */
  pauseReading(): void;
  resumeReading(): void;
  readonly isReadingPaused: boolean;
  /** The listener is called once, after the stream has ended in any way; at once if it has already ended. */
  onClose(listener: CloseListener): void;
}

/** Is told of an end. Who listens to tens of thousands has no function for each, but is an object that is there anyway. */
export type CloseListener = (() => void) | { onClosed(): void };

/** Is told once that what it has written is on its way, or why it is not. As with CloseListener, an object spares a function for each stream. */
export type WriteListener = ((error?: Error) => void) | { onWritten(error?: Error): void };

/** Receives the content of a request; the same object for all of it, so that a call needs no functions of its own. */
export interface StreamReceiver {
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** The stream has ended in any way. */
  onClosed(): void;
}

/**
 * A client's certificate that has been verified: an authority that this port trusts has issued it, it was valid at the handshake, and the client
 * has its private key. A connection ends soon after its certificate has expired, or after its authority is no longer trusted.
 */
export interface PeerCertificate {
  /** The URIs among its alternative names, for instance `spiffe://cluster.local/ns/team-a/sa/checkout`; often none. */
  readonly uriSans: readonly string[];
  /** When it expires, in milliseconds since 1970. */
  readonly validToMs: number;
}

/** One client connection. */
export interface TransportSession {
  /** IP address of the peer, or "unix" on a unix socket. */
  readonly remoteAddress: string;
  /** True if the connection is encrypted with TLS. */
  readonly isEncrypted: boolean;
  /** The certificate with which the client proved its name. Undefined if it presented none, or none was asked for. */
  readonly peerCertificate: PeerCertificate | undefined;
  /** To be charged for whatever is held because of this peer. */
  readonly account: PeerAccount;
  /** Open streams, oldest first. */
  readonly streams: readonly TransportStream[];
  readonly isOpen: boolean;
  /** The initial stream window that the peer announced, in bytes: how much can be in flight to a peer that does not read. */
  readonly peerWindowBytes: number;
  /** Tells the client to open no more streams here; open ones continue. When shutting down, call it before any stream ends. */
  goaway(): void;
  /** Sends a PING; false if one is outstanding (at most one per session, for all its streams). `onAck` gets an error if the session ends. */
  ping(onAck: (error?: Error) => void): boolean;
  /**
   * Stops reading the connection, all its streams, until `resumeReading`: the client can send no more. Calling it again for each stream that
   * still arrives is necessary, because the engine may have read on.
   */
  pauseReading(): void;
  resumeReading(): void;
  readonly isReadingPaused: boolean;
  /** Reports that a request of this connection was refused, or ended early, because of a limit. */
  countRefusal(reason: RefusalReason): void;
  /** Counts work that the client has caused, beyond its requests, in this turn of the event loop; see ReadFairness. A request is 1. */
  spend(work: number): void;
  /** Drops the connection at once. */
  destroy(): void;
  onClose(listener: CloseListener): void;
}

/** Headers by their lower-case names, with the pseudo-headers of HTTP/2. */
export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

/** Which requests are gRPC, and what their answers begin with. Called for each request: answers are not modified, and should be shared. */
export interface GrpcHeaderRules {
  /** False for requests that the HTTP listener of the port gets. */
  readonly isGrpc: (request: HeaderFields) => boolean;
  /** With `:status`. */
  readonly responseHeaders: (request: HeaderFields) => Readonly<Record<string, string | number>>;
}

/** Limits of a peer on one connection. */
export interface TransportLimits {
  /** SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly maxStreamsPerConnection: number;
  /** Bytes of all request headers of one stream (RFC 9113 6.5.2 counting). */
  readonly maxHeaderBytes: number;
  /** Time for the acknowledgement of our SETTINGS, which all clients send at once; up to twice as long. */
  readonly settingsTimeoutMs: number;
  /** Time for the first stream that is served; up to twice as long. */
  readonly firstStreamTimeoutMs: number;
  /** Time without a stream that is served, after the first; up to twice as long. */
  readonly idleTimeoutMs: number;
}

export const defaultTransportLimits: TransportLimits = {
  maxStreamsPerConnection: 1_000,
  maxHeaderBytes: 64 * 1024,
  settingsTimeoutMs: 10_000,
  firstStreamTimeoutMs: 60_000,
  idleTimeoutMs: 600_000,
};

/** Receives what an engine accepts. */
export interface TransportHandler {
  onStream(stream: TransportStream): void;
  onSession?(session: TransportSession): void;
  /** A connection that `onSession` was called for has closed. */
  onSessionClosed?(session: TransportSession): void;
}
