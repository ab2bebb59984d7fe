import type { RpcStatus } from "./status.js";

/**
 * The seam between services and the HTTP/2 engine. Services see only these interfaces, so that another engine can replace
 * node:http2 without a service noticing. An engine owns framing of HTTP/2, flow control and limits; it knows no message types.
 */

/** Why a stream is cut off without trailers. REFUSED_STREAM is what clients read as UNAVAILABLE; CANCEL would stop .NET for good. */
export type ResetCode =
  "REFUSED_STREAM" | "CANCEL" | "INTERNAL_ERROR" | "ENHANCE_YOUR_CALM" | "PROTOCOL_ERROR";

/** One request stream as the server sees it. All methods are safe to call on a stream that has closed: they do nothing. */
export interface TransportStream {
  readonly session: TransportSession;
  /** `:path`, for instance `/flagd.sync.v1.FlagSyncService/SyncFlags`. */
  readonly path: string;
  /** True until the stream has ended, in whatever way. */
  readonly isOpen: boolean;
  /** True once response headers went out. */
  readonly hasResponded: boolean;
  /** A request header by its lower-case name; the first value where there are several. */
  header(name: string): string | undefined;
  /** Sends `:status: 200` with the given response headers, once. */
  respond(headers?: Readonly<Record<string, string>>): void;
  /**
   * Queues one complete gRPC frame (5-byte prefix included). The engine keeps a reference and never writes to it: one frame may be
   * given to any number of streams. `onWritten` is called exactly once: without an error when flow control has taken the last byte,
   * with one when the stream ended before. Callers that fan out keep one frame in flight and take the newest in `onWritten`.
   */
  write(frame: Uint8Array, onWritten?: (error?: Error) => void): void;
  /**
   * Ends the stream with trailers (trailers-only if nothing was sent yet). Trailers queue behind frames that flow control holds
   * back: a stalled stream ends only when its peer reads on, or by `reset`.
   */
  end(status: RpcStatus): void;
  /** Ends the stream at once, whatever is queued. */
  reset(code: ResetCode): void;
  /** Request bytes as they come, then `onEnd` when the client half-closed. May be set once, synchronously in the stream handler. */
  receive(onData: (chunk: Buffer) => void, onEnd: () => void): void;
  /** Called once, after the stream has ended in whatever way; at once if it has ended already. */
  onClose(listener: () => void): void;
}

/** One client connection. */
export interface TransportSession {
  /** IP address of the peer, or "unix" on a unix socket. */
  readonly remoteAddress: string;
  /** Open streams, in the order they came. */
  readonly streams: ReadonlySet<TransportStream>;
  readonly isOpen: boolean;
  /** The initial stream window the peer announced, in bytes: how much may be on its way to a peer that does not read. */
  readonly peerWindowBytes: number;
  /** Tells the client to open no further stream here; open ones live on. Must come before trailers when shutting down. */
  goaway(): void;
  /** Sends a PING; false if one is outstanding (at most one a session, for all its streams). `onAck` gets an error if the session ended. */
  ping(onAck: (error?: Error) => void): boolean;
  /** Drops the connection at once. */
  destroy(): void;
  onClose(listener: () => void): void;
}

/** What a peer may ask of one connection. */
export interface TransportLimits {
  /** SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly maxStreamsPerConnection: number;
  /** Bytes of all request headers of one stream (RFC 9113 10.5.1 counting). */
  readonly maxHeaderBytes: number;
  /** What the engine may hold per connection, in bytes: above streams × largest snapshot, as shared frames count once a stream. */
  readonly maxSessionMemoryBytes: number;
}

export const defaultTransportLimits: TransportLimits = {
  maxStreamsPerConnection: 1_000,
  maxHeaderBytes: 64 * 1024,
  maxSessionMemoryBytes: 1024 * 1024 * 1024,
};

/** What an engine reports to. */
export interface TransportHandler {
  onStream(stream: TransportStream): void;
  onSession?(session: TransportSession): void;
}
