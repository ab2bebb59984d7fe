import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { systemClock, type Clock } from "@bunting/runtime";
import { peerAddress } from "./peer-address.js";
import type { RefusalReason } from "./status.js";
import {
  defaultTransportLimits,
  type GrpcHeaderRules,
  type TransportHandler,
  type TransportLimits,
  type TransportSession,
  type TransportStream,
} from "./transport.js";
import type { AccountBook, OpenAccount } from "./account.js";
import { BridgedStream } from "./bridged-stream.js";
import { setting, settingsFrame } from "./frames.js";
import { defaultGrpcHeaders, refuseOther, refuseRequest } from "./http2-request-routing.js";
import { Http2Session, type SessionOptions } from "./http2-session.js";
import { RefusedStream } from "./plain-stream.js";
import type { RequestHead } from "./request-head.js";
import type { SessionEvents } from "./session-events.js";
import { SessionAdmission, type AdmissionListener } from "./session-admission.js";
import type { SocketAccess } from "./socket-access.js";
import type { SharedTurns } from "./turn-share.js";

/** What a transport reports about its connections and requests. */
export interface TransportEvents {
  /** Called when a connection is refused or ended to free memory, for want of an answer to SETTINGS, or because it is idle. */
  readonly onNotAdmitted?: AdmissionListener | undefined;
  /** Called when a connection has as many streams as it may have: its client's further ones wait. */
  readonly onStreamLimit?: ((session: TransportSession) => void) | undefined;
  /** Called when a connection is ended because of a flood of control frames. */
  readonly onFlood?: (() => void) | undefined;
  /** Called when a connection has ended because its peer violated HTTP/2. */
  readonly onProtocolError?: (() => void) | undefined;
  /** Called for each request that is refused, or ended early, because of a limit. */
  readonly onRefused?: ((reason: RefusalReason) => void) | undefined;
  /** Called each time that a connection is read on after it was paused for a turn. */
  readonly onReadingResumed?: (() => void) | undefined;
}

export interface Http2TransportOptions {
  /** Receives POST requests whose content type is gRPC. */
  readonly handler: TransportHandler;
  /** Receives all other requests, as node's HTTP/1.1-compatible request and response; without it they are refused. */
  readonly onRequest?: RequestListener | undefined;
  readonly grpcHeaders?: GrpcHeaderRules | undefined;
  readonly limits?: Partial<TransportLimits> | undefined;
  /** True: a stream of gRPC counts as served once its service calls `admit`. Default: at once. */
  readonly admitsLater?: boolean | undefined;
  /** Memory budget of peers. */
  readonly memory: AccountBook;
  readonly clock?: Clock | undefined;
  /** Bounds the requests of a turn of the event loop. */
  readonly turns: SharedTurns;
  readonly sockets: SocketAccess;
  readonly events?: TransportEvents;
  /** Counts up with time, for the stall watch that looks after the sessions. */
  readonly stallClock: { readonly tick: number };
}

const headersTooLarge = "The headers of the request are larger than this server accepts.";
const memoryIsFull = "The peers of this server hold as much of its memory as they may (--peer-memory).";

/** So many bytes of headers take as long as the rest of a request. */
const headerBytesPerWork = 8 * 1024;

/**
 * Our own HTTP/2. It does not listen: PortListener hands it sockets on which the client has begun to speak HTTP/2.
 *
 * Floods are stopped by: the limits below; PeerConduct, for streams that are reset, and for PING and SETTINGS frames whose answers are read;
 * bounds on CONTINUATION frames, on settings, on unsent answers to PING and SETTINGS, and on requests that are invalid; the stall watch, for
 * responses that are not read; the keepalive, for header blocks that do not end; and the turns, for all frames that cost time only.
 */
export class Http2ServerTransport {
  readonly #handler: TransportHandler;
  readonly #onRequest: RequestListener | undefined;
  readonly #admission: SessionAdmission;
  readonly #limits: TransportLimits;
  readonly #admitsLater: boolean;
  readonly #onStreamLimit: ((session: TransportSession) => void) | undefined;
  readonly #sessions = new Set<Http2Session>();
  readonly #sessionOptions: SessionOptions;
  /** The frame by which clients learn the limits. */
  readonly #settings: Uint8Array;

  constructor(options: Http2TransportOptions) {
    this.#limits = { ...defaultTransportLimits, ...options.limits };
    this.#handler = options.handler;
    this.#admitsLater = options.admitsLater === true;
    const admission = new SessionAdmission({
      memory: options.memory,
      clock: options.clock ?? systemClock,
      ...this.#limits,
      onEnd: (...why) => options.events?.onNotAdmitted?.(...why),
    });
    this.#admission = admission;
    this.#onStreamLimit = options.events?.onStreamLimit;
    this.#onRequest = options.onRequest;
    const { stallClock, turns, sockets } = options;
    const grpcHeaders = options.grpcHeaders ?? defaultGrpcHeaders(options.onRequest === undefined);
    const {
      onFlood = ignore,
      onProtocolError = ignore,
      onRefused = ignore,
      onReadingResumed = ignore,
    } = options.events ?? {};
    const events: SessionEvents<Http2Session> = {
      onRequest: (session, streamId, head, hasEnded) => this.#route(session, streamId, head, hasEnded),
      onSettingsAck: (session) => admission.acknowledged(session),
      onServed: (session, isServed) => admission.served(session, isServed),
      onEvicted: (session, hasTime) => admission.evict(session, hasTime),
      onClosed: (session) => {
        this.#sessions.delete(session);
        admission.leave(session);
        this.#handler.onSessionClosed?.(session);
      },
      onFlood,
      onProtocolError,
      onRefused,
      onReadingResumed,
    };
    this.#sessionOptions = { stallClock, turns, sockets, grpcHeaders, events, limits: this.#limits };
    this.#settings = settingsFrame([
      [setting.maxConcurrentStreams, this.#limits.maxStreamsPerConnection],
      [setting.maxHeaderListSize, this.#limits.maxHeaderBytes],
    ]);
  }

  /** Open connections, oldest first. */
  get sessions(): ReadonlySet<Http2Session> {
    return this.#sessions;
  }

  /**
   * Calls back when a new connection may be accepted: at once, unless this turn of the event loop has had its work. What the connection has
   * sent is handled as soon as it is accepted.
   */
  whenReady(accept: () => void, peer: string): void {
    this.#sessionOptions.turns.admit(accept, peer);
  }

  /** Takes over a connection, of which this has been read. */
  accept(socket: Socket, seen: Buffer): void {
    const address = peerAddress(socket);
    if (!this.#admission.admits(address)) {
      socket.destroy();
      return;
    }
    const openAccount = (opened: Http2Session): OpenAccount => this.#admission.openAccount(opened, address);
    const session = new Http2Session(socket, openAccount, this.#sessionOptions);
    this.#sessions.add(session);
    this.#admission.enter(session, session.account);
    this.#handler.onSession?.(session);
    session.start(this.#settings, seen);
  }

  #route(session: Http2Session, streamId: number, head: RequestHead, hasEnded: boolean): void {
    session.spend(1 + head.bytes / headerBytesPerWork);
    if (head.isGrpc) {
      const stream = session.addCall(streamId, head, hasEnded);
      this.#take(session, stream, head.bytes);
      return;
    }
    const isRefused = this.#admission.hasRefused(session);
    if (!isRefused && !session.account.isCounted) {
      // It is being ended to free memory, and nothing that it still sends is charged.
      session.countRefusal("memory");
      session.destroy();
      return;
    }
    const isTooLarge = head.bytes > this.#limits.maxHeaderBytes;
    if (!isRefused && !isTooLarge && this.#onRequest !== undefined) {
      const bridged = new BridgedStream(session, streamId, head, hasEnded);
      session.open.add(bridged);
      session.admit(bridged);
      bridged.begin(this.#onRequest);
      return;
    }
    const plain = new RefusedStream(session, streamId, head, hasEnded);
    session.open.add(plain);
    if (isRefused) {
      session.countRefusal("memory");
      refuseRequest(plain, 503, memoryIsFull);
    } else if (isTooLarge) {
      session.goaway();
      session.countRefusal("headers");
      refuseRequest(plain, 431, headersTooLarge);
    } else refuseOther(plain);
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
      // The peer may not know the limit yet: it has not acknowledged our SETTINGS.
      session.goaway();
      session.countRefusal("headers");
      const message = `the headers have ${headerBytes} bytes; at most ${maxHeaderBytes} are allowed`;
      stream.end({ code: "RESOURCE_EXHAUSTED", message });
      return;
    }
    if (!this.#admitsLater) stream.admit();
    if (session.open.size === maxStreamsPerConnection) this.#onStreamLimit?.(session);
    this.#handler.onStream(stream);
  }
}

function ignore(): void {
  // Without a listener.
}
