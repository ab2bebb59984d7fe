import {
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { errorCode, systemClock, type Clock } from "@bunting/runtime";
import { headerListBytes } from "./header-list-bytes.js";
import { bridgeRequest, defaultGrpcHeaders, refuseOther, refuseRequest } from "./http2-request-routing.js";
import { Http2Session, type SessionEvents } from "./http2-session.js";
import { PeerMemory } from "../limits/peer-memory.js";
import { ReadTurns } from "../limits/read-turns.js";
import { SessionAdmission, type AdmissionReason } from "./session-admission.js";
import type { RefusalReason } from "../status.js";
import {
  defaultTransportLimits,
  type GrpcHeaderRules,
  type TransportHandler,
  type TransportLimits,
  type TransportSession,
  type TransportStream,
} from "../transport.js";

export interface Http2TransportOptions {
  /** Receives POST requests whose content type is gRPC. */
  readonly handler: TransportHandler;
  /** Receives all other requests, as node's HTTP/1.1-compatible request and response; without it they are refused. */
  readonly onRequest?: RequestListener | undefined;
  readonly grpcHeaders?: GrpcHeaderRules | undefined;
  readonly limits?: Partial<TransportLimits> | undefined;
  /** Bounds what peers make this process hold; without it, nothing does. */
  readonly memory?: PeerMemory | undefined;
  readonly clock?: Clock | undefined;
  /** Bounds the requests of a turn of the event loop. */
  readonly turns?: ReadTurns | undefined;
  /** Called when a connection is refused or ended to free memory, or for want of an answer to SETTINGS. */
  readonly onNotAdmitted?: ((reason: AdmissionReason) => void) | undefined;
  /** Called when a connection has as many streams as it may have: its client's further ones wait. */
  readonly onStreamLimit?: ((session: TransportSession) => void) | undefined;
  /** Counts up with time, for the stall watch that looks after the sessions. */
  readonly stallClock: { readonly tick: number };
  /** Called when a connection is ended because of a flood of control frames. */
  readonly onFlood?: (() => void) | undefined;
  /** Called when a connection has ended because its peer violated HTTP/2. */
  readonly onProtocolError?: (() => void) | undefined;
  /** Called for each request that is refused, or ended early, because of a limit. */
  readonly onRefused?: ((reason: RefusalReason) => void) | undefined;
  /** Called each time that a connection is read on after the turns had held it. */
  readonly onHeld?: (() => void) | undefined;
}

const headersTooLarge = "The headers of the request are larger than this server accepts.";
const memoryIsFull = "The peers of this server hold as much of its memory as they may (--peer-memory).";

/** With more connections, the heap is much larger than what they can send in a turn of the event loop, and pausing them would take long. */
const maxPaused = 1_000;
/** The largest number that node takes for a bound. */
const unbounded = 2 ** 32 - 1;

/** So many bytes of headers take as long as the rest of a request. */
const headerBytesPerWork = 8 * 1024;

const wrapper = Symbol("the Http2Session around a node session");
type Wrapped = ServerHttp2Session & { [wrapper]: Http2Session };

/**
 * The node:http2 engine. It does not listen: PortListener hands it sockets on which the client has begun to speak HTTP/2. It uses
 * sessions and their 'stream' event, because the compatibility API costs two more objects and a dozen listeners per request.
 *
 * Floods are stopped by: the limits below; nghttp2's own bounds on stream resets (1,000 at once, then 33 per second), CONTINUATION frames
 * (8 per header block) and unsent answers to PING and SETTINGS; node's bound per session on header fields (128); our bound on streams that
 * nghttp2 has reset because of invalid frames; our FloodGuard, for PING and SETTINGS frames whose answers are read; the stall watch, for
 * responses that are not; and the keepalive, which drops a connection that nghttp2 has ended with GOAWAY but that node leaves open, and one
 * whose header block does not end. Node's
 * own bounds on invalid or empty frames and on refused streams must never be met: see `engineOptions`. So nothing ends a flood of empty DATA
 * frames, or of headers that nghttp2 refuses before JavaScript sees them: they hold no memory, and cost as much time as any other frames.
 */
export class Http2Transport {
  readonly #options: ServerOptions;
  readonly #handler: TransportHandler;
  readonly #onRequest: RequestListener | undefined;
  readonly #grpcHeaders: GrpcHeaderRules;
  readonly #admission: SessionAdmission;
  readonly #limits: TransportLimits;
  readonly #onStreamLimit: ((session: TransportSession) => void) | undefined;
  readonly #onSettingsAck: (this: ServerHttp2Session) => void;
  readonly #sessions = new Set<Http2Session>();
  #isPaused = false;
  readonly #turns: ReadTurns;
  readonly #stallClock: { readonly tick: number };
  readonly #events: SessionEvents;
  readonly #onControlFrame: (this: ServerHttp2Session) => void;
  readonly #onError: (this: ServerHttp2Session, error: Error) => void;
  readonly #onStream: (
    this: ServerHttp2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: string[],
  ) => void;

  constructor(options: Http2TransportOptions) {
    this.#limits = { ...defaultTransportLimits, ...options.limits };
    this.#options = engineOptions(this.#limits);
    this.#handler = options.handler;
    const admission = new SessionAdmission({
      memory: options.memory ?? new PeerMemory(Number.POSITIVE_INFINITY),
      clock: options.clock ?? systemClock,
      settingsTimeoutMs: this.#limits.settingsTimeoutMs,
      onEnd: (reason) => options.onNotAdmitted?.(reason),
      onEvict: () => this.#pause(),
    });
    this.#admission = admission;
    this.#onStreamLimit = options.onStreamLimit;
    this.#onSettingsAck = function () {
      admission.acknowledged((this as Wrapped)[wrapper]);
    };
    this.#onRequest = options.onRequest;
    this.#grpcHeaders = options.grpcHeaders ?? defaultGrpcHeaders(options.onRequest === undefined);
    this.#stallClock = options.stallClock;
    this.#turns = options.turns ?? new ReadTurns();
    const { onFlood, onProtocolError = ignore, onRefused = ignore, onHeld = ignore } = options;
    this.#events = { onProtocolError, onRefused, onHeld };
    this.#onControlFrame = function () {
      if ((this as Wrapped)[wrapper].countControlFrame()) onFlood?.();
    };
    this.#onError = function (error) {
      // Other errors are those of the socket. Without a listener, node would raise an uncaught exception.
      if (errorCode(error)?.startsWith("ERR_HTTP2_") === true) onProtocolError();
      (this as Wrapped)[wrapper].abandon();
    };
    const route = this.#route.bind(this);
    this.#onStream = function (stream, headers, _flags, rawHeaders) {
      route((this as Wrapped)[wrapper], stream, headers, rawHeaders);
    };
  }

  /** Open connections, oldest first. */
  get sessions(): ReadonlySet<Http2Session> {
    return this.#sessions;
  }

  /**
   * Calls back when a new connection may be accepted: at once, unless this turn of the event loop has had its work. What the connection has
   * sent is handled as soon as it is accepted.
   */
  whenReady(accept: () => void): void {
    this.#turns.admit(accept);
  }

  /** Takes over a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void {
    if (!this.#admission.admits()) {
      socket.destroy();
      return;
    }
    const node = performServerHandshake(socket, this.#options);
    const account = this.#admission.openAccount(() => session);
    const session = new Http2Session(
      node,
      socket,
      account,
      this.#stallClock,
      this.#events,
      this.#turns,
      this.#grpcHeaders,
    );
    (node as Wrapped)[wrapper] = session;
    this.#sessions.add(session);
    node.on("error", this.#onError);
    node.on("stream", this.#onStream);
    node.on("ping", this.#onControlFrame);
    node.on("remoteSettings", this.#onControlFrame);
    node.once("localSettings", this.#onSettingsAck);
    // The socket's 'close', not the session's: node never emits the latter if the session failed while its socket was stalled.
    socket.once("close", () => {
      this.#sessions.delete(session);
      this.#admission.leave(session);
      session.handleClose();
    });
    this.#admission.enter(session, account);
    this.#handler.onSession?.(session);
  }

  /**
   * Reads nothing until the streams of an ended connection are gone, for which node needs until the next turn of the event loop: whatever
   * other connections have sent would come in this one.
   */
  #pause(): void {
    if (this.#isPaused || this.#sessions.size > maxPaused) return;
    this.#isPaused = true;
    const paused = [...this.#sessions].filter((session) => session.pause());
    setImmediate(() =>
      setImmediate(() => {
        this.#isPaused = false;
        for (const session of paused) session.resume();
      }),
    );
  }

  #route(
    session: Http2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: string[],
  ): void {
    const headerBytes = headerListBytes(rawHeaders);
    session.spend(1 + headerBytes / headerBytesPerWork);
    if (this.#grpcHeaders.isGrpc(headers)) {
      keepFirst(headers, rawHeaders);
      this.#take(session, session.addStream(stream, headers, headerBytes), headerBytes);
      return;
    }
    session.addBridged(stream);
    if (this.#admission.hasRefused(session)) {
      session.countRefusal("memory");
      refuseRequest(stream, session.account, headerBytes, 503, memoryIsFull);
    } else if (!session.account.isCounted) {
      // It is being ended to free memory, and nothing that it still sends is charged.
      session.countRefusal("memory");
      session.destroy();
    } else if (headerBytes > this.#limits.maxHeaderBytes) {
      session.goaway();
      session.countRefusal("headers");
      refuseRequest(stream, session.account, headerBytes, 431, headersTooLarge);
    } else if (this.#onRequest === undefined) refuseOther(stream, headers, session.account, headerBytes);
    else bridgeRequest(this.#onRequest, stream, headers, rawHeaders, session.account, headerBytes);
  }

  #take(session: Http2Session, stream: TransportStream, headerBytes: number): void {
    const { maxStreamsPerConnection, maxHeaderBytes } = this.#limits;
    if (this.#admission.refuses(stream)) {
      session.countRefusal("memory");
      return;
    }
    if (!session.account.isCounted) {
      session.countRefusal("memory");
      // It is being ended to free memory. This stream came before our GOAWAY could be sent, and its client may try again elsewhere.
      stream.reset("REFUSED_STREAM");
      return;
    }
    if (headerBytes > maxHeaderBytes) {
      // Node has checked this only if the peer has acknowledged our SETTINGS. Further streams are ignored, because headers that were refused
      // stay in memory until the next garbage collection.
      session.goaway();
      session.countRefusal("headers");
      const message = `the headers have ${headerBytes} bytes; at most ${maxHeaderBytes} are allowed`;
      stream.end({ code: "RESOURCE_EXHAUSTED", message });
      return;
    }
    if (stream.session.streams.size === maxStreamsPerConnection) this.#onStreamLimit?.(stream.session);
    this.#handler.onStream(stream);
  }
}

/** Of a header that was repeated, which node joins with commas, the first counts, as in flagd. */
function keepFirst(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    const name = rawHeaders[at] ?? "";
    const value = rawHeaders[at + 1] ?? "";
    if (headers[name] !== value && headers[name] !== undefined) headers[name] = value;
  }
}

function ignore(): void {
  // Without a listener.
}

function engineOptions(limits: TransportLimits): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: limits.maxStreamsPerConnection,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxSessionMemory: Math.max(1, Math.ceil(limits.maxSessionMemoryBytes / 1_000_000)),
    // One of TransportSession.ping and one of the keepalive.
    maxOutstandingPings: 2,
    // Beyond these bounds node fails a callback in the middle of nghttp2's work. Memory of the session is then counted as held for ever, and
    // node ends the process when it collects the session ("Assertion failed: (current_nghttp2_memory_) == (0)").
    maxSessionInvalidFrames: unbounded,
    maxSessionRejectedStreams: unbounded,
  };
}
