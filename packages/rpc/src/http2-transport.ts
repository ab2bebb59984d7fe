import {
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { bridgeRequest, isGrpcRequest, refuseRequest } from "./http2-request-routing.js";
import { Http2Session } from "./http2-session.js";
import { PeerMemory } from "./peer-memory.js";
import { defaultTransportLimits, type TransportHandler, type TransportLimits } from "./transport.js";

export interface Http2TransportOptions {
  /** Receives POST requests whose content type is gRPC. */
  readonly handler: TransportHandler;
  /** Receives all other requests, as node's HTTP/1.1-compatible request and response; without it they are refused. */
  readonly onRequest?: RequestListener | undefined;
  readonly limits?: Partial<TransportLimits> | undefined;
  /** Bounds what peers make this process hold; without it, nothing does. */
  readonly memory?: PeerMemory | undefined;
  /** Called when a connection is ended because of a flood of control frames. */
  readonly onFlood?: (() => void) | undefined;
}

const wrapper = Symbol("the Http2Session around a node session");
type Wrapped = ServerHttp2Session & { [wrapper]: Http2Session };

/**
 * The node:http2 engine. It does not listen: PortListener hands it sockets on which the client has begun to speak HTTP/2. It uses
 * sessions and their 'stream' event, because the compatibility API costs two more objects and a dozen listeners per request.
 *
 * Floods are stopped by: the limits below; nghttp2's own bounds on stream resets (1,000 at once, then 33 per second), CONTINUATION frames
 * (8 per header block) and unsent answers to PING and SETTINGS; node's bounds per session on header fields (128), invalid or empty frames
 * (1,000) and refused streams (100); our FloodGuard, for PING and SETTINGS frames whose answers are read; and the keepalive, which drops a
 * connection that nghttp2 has ended with GOAWAY but whose peer keeps it open.
 */
export class Http2Transport {
  readonly #options: ServerOptions;
  readonly #handler: TransportHandler;
  readonly #onRequest: RequestListener | undefined;
  readonly #memory: PeerMemory;
  readonly #sessions = new Set<Http2Session>();
  readonly #onControlFrame: (this: ServerHttp2Session) => void;
  readonly #onStream: (
    this: ServerHttp2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: string[],
  ) => void;

  constructor(options: Http2TransportOptions) {
    this.#options = engineOptions({ ...defaultTransportLimits, ...options.limits });
    this.#handler = options.handler;
    this.#memory = options.memory ?? new PeerMemory(Number.POSITIVE_INFINITY);
    this.#onRequest = options.onRequest;
    const { onFlood } = options;
    this.#onControlFrame = function () {
      if ((this as Wrapped)[wrapper].countControlFrame()) onFlood?.();
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

  /** Takes over a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void {
    const node = performServerHandshake(socket, this.#options);
    const account = this.#memory.open(() => session.destroy());
    const session = new Http2Session(node, socket, account);
    (node as Wrapped)[wrapper] = session;
    this.#sessions.add(session);
    node.on("error", ignore);
    node.on("stream", this.#onStream);
    node.on("ping", this.#onControlFrame);
    node.on("remoteSettings", this.#onControlFrame);
    // The socket's 'close', not the session's: node never emits the latter if the session failed while its socket was stalled.
    socket.once("close", () => {
      this.#sessions.delete(session);
      session.handleClose();
    });
    this.#handler.onSession?.(session);
  }

  #route(
    session: Http2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: string[],
  ): void {
    if (isGrpcRequest(headers)) this.#handler.onStream(session.addStream(stream, headers));
    else if (this.#onRequest !== undefined)
      bridgeRequest(this.#onRequest, stream, headers, rawHeaders, session.account);
    else refuseRequest(stream, headers);
  }
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
  };
}

/** The session closes after an error, and its close is handled. */
function ignore(): void {
  // Without a listener, node would raise an uncaught exception.
}
