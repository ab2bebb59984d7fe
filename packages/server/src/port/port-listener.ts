import type { RequestListener } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import {
  defaultTransportLimits,
  Http2ServerTransport,
  type KeepaliveOptions,
  peerAddress,
  SessionKeepalive,
  type TransportHandler,
  type TransportSession,
  type WatchedSession,
} from "@bunting/http2";
import { dismissGently } from "../http1/dismiss-gently.js";
import { Http1Server } from "../http1/http1-server.js";
import { lastAnswer } from "../http1/last-answer.js";
import { PeerMemory } from "../limits/peer-memory.js";
import { ReadFairness } from "../limits/read-fairness.js";
import { StallWatch, type StallOptions } from "../limits/stall-watch.js";
import { warnOfMissingParts } from "../node-internals/self-check.js";
import { startReading, stopReading } from "../node-internals/socket-handle.js";
import { ClientCertificateWatch } from "../tls/client-certificate-watch.js";
import { isEncrypted } from "../tls/peer-certificate.js";
import type { TlsEvents, TlsTermination } from "../tls/tls-termination.js";
import { bindEndpoint } from "./bind-endpoint.js";
import { describeEndpoint } from "./listen-endpoint.js";
import type { PortListenerOptions } from "./port-listener-options.js";
import { PrefaceSniffer, silenceWithin, type SniffedProtocol } from "./preface-sniffer.js";
import { socketAccess } from "./socket-access.js";

const defaultKeepalive: KeepaliveOptions = { intervalMs: 60_000, timeoutMs: 20_000 };
const defaultStall: StallOptions = { timeoutMs: 60_000 };
const defaultHeaderTimeoutMs = 3_000;
/** Idle time after which TCP itself probes a peer. */
const tcpKeepaliveMs = 30_000;
const timedOut = lastAnswer("408 Request Timeout", "No request came in time.");
const grpcOnly = lastAnswer("505 HTTP Version Not Supported", "This port speaks gRPC over HTTP/2.");
const nothing = Buffer.alloc(0);
const tlsOnly = lastAnswer("400 Bad Request", "This port speaks TLS only: use https.");

/**
 * One port or unix socket that serves gRPC over HTTP/2 as well as HTTP/1.1. Who makes one calls `listen`, in the end `stopListening`, and when the calls
 * have had their time `close`.
 *
 * A new connection (`#accept`) is silent until PrefaceSniffer knows its protocol. Then (`#serve`) one of four things happens:
 * - TLS is taken off it (`#secure`), and the encrypted socket is accepted in its place; it goes the same way once more.
 * - Http2ServerTransport takes it over, in a turn of the event loop that has room for it (`#takeHttp2`).
 * - Http1Server takes it over. On a port without gRPC and TLS, it does so at once.
 * - It is refused: dropped, or sent a last answer (`#dismiss`).
 *
 * Invariants:
 * - Each open connection either is one of `#sockets` or has a session of the transport. A socket over which TLS goes is neither: its encrypted one is.
 * - Whoever takes a connection over charges it to `memory`. Until then it counts as silent, and PrefaceSniffer bounds how many of these there are.
 */
export class PortListener {
  readonly #options: PortListenerOptions;
  readonly #sniffer: PrefaceSniffer;
  readonly #server: Server;
  readonly #transport: Http2ServerTransport | undefined;
  readonly #http1: Http1Server | undefined;
  readonly #keepalive: SessionKeepalive | undefined;
  readonly #stallWatch: StallWatch;
  /** Connections without a session: they speak HTTP/1.1, have not revealed their protocol yet, or are being refused. */
  readonly #sockets = new Set<Socket>();
  readonly #certificateWatch: ClientCertificateWatch;
  /** One listener for all of them: a reconnect storm brings ten thousand at once. */
  readonly #onClose: (this: Socket) => void;

  constructor(options: PortListenerOptions) {
    const { stall = defaultStall, turns = new ReadFairness(), onDropped, onRefused } = options;
    this.#options = options;
    const forget = this.#forget.bind(this);
    this.#onClose = function () {
      forget(this);
    };
    this.#sniffer = this.#makeSniffer(turns);
    const onStreamStalled = (): void => {
      stall.onStreamStalled?.();
      onRefused?.("stalled");
    };
    this.#stallWatch = new StallWatch({ ...stall, onStreamStalled }, () => onDropped?.("stalled"));
    if (options.http !== undefined) this.#http1 = this.#makeHttp1(options.http, turns);
    if (options.grpc !== undefined) {
      this.#transport = this.#makeTransport(options.grpc, turns);
      const { keepalive = defaultKeepalive } = options;
      this.#keepalive = new SessionKeepalive(this.#transport.sessions, keepalive, (reason) =>
        onDropped?.(reason),
      );
    }
    this.#certificateWatch = new ClientCertificateWatch(
      { sessions: this.sessions, sockets: this.#sockets },
      (detail, peer) => onDropped?.("certificate", detail, peer),
    );
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepaliveMs },
      (socket) => this.#accept(socket),
    );
  }

  #makeSniffer(turns: ReadFairness): PrefaceSniffer {
    const { memory, headerTimeoutMs = defaultHeaderTimeoutMs, onDropped, onRefused } = this.#options;
    return new PrefaceSniffer({
      turns,
      silence: silenceWithin(memory?.budgetBytes ?? Number.POSITIVE_INFINITY, headerTimeoutMs),
      expectsTls: (socket) => this.#expectsTls(socket),
      onSniffed: (socket, protocol, seen) => this.#serve(socket, protocol, seen),
      onTimeout: (socket, hasSent) => {
        onRefused?.("request_timeout");
        // A pool that opened the connection for later would take a 408 that crosses its first request for the answer.
        if (this.#expectsTls(socket) || !hasSent) socket.destroy();
        else this.#dismiss(socket, timedOut);
      },
      onTooManySilent: (socket) => {
        onDropped?.("memory");
        socket.destroy();
      },
    });
  }

  #makeHttp1(http: RequestListener, turns: ReadFairness): Http1Server {
    const { limits, memory, wholeRequests, onDropped, onRefused, idleTimeoutMs } = this.#options;
    const { headerTimeoutMs = defaultHeaderTimeoutMs, requestTimeoutMs = 30_000 } = this.#options;
    const { maxHeaderBytes = defaultTransportLimits.maxHeaderBytes } = limits ?? {};
    return new Http1Server(http, {
      times: { headerTimeoutMs, requestTimeoutMs, idleTimeoutMs },
      limits: { maxHeaderBytes, memory },
      wholeRequests,
      stallClock: this.#stallWatch,
      turns,
      events: {
        onOverload: () => onDropped?.("memory"),
        onLargeHeaders: () => onDropped?.("headers"),
        onRefused,
      },
    });
  }

  #makeTransport(grpc: TransportHandler, turns: ReadFairness): Http2ServerTransport {
    const { http, grpcHeaders, admitsLater, limits, memory, onDropped } = this.#options;
    const { onRefused, onStreamLimit, onReadingResumed } = this.#options;
    return new Http2ServerTransport({
      handler: grpc,
      onRequest: http,
      grpcHeaders,
      admitsLater,
      limits,
      memory: memory ?? new PeerMemory(Number.POSITIVE_INFINITY),
      turns,
      sockets: socketAccess,
      stallClock: this.#stallWatch,
      events: {
        onFlood: () => onDropped?.("flood"),
        onProtocolError: () => onDropped?.("protocol_error"),
        onNotAdmitted: (...why) => onDropped?.(...why),
        onStreamLimit,
        onRefused,
        onReadingResumed,
      },
    });
  }

  /** Open HTTP/2 connections, oldest first. */
  get sessions(): ReadonlySet<TransportSession> {
    return this.#transport?.sessions ?? new Set();
  }

  /** The TCP port in use, once listening; 0 on a unix socket. */
  get port(): number {
    return (this.#server.address() as Partial<AddressInfo> | null)?.port ?? 0;
  }

  /** See bindEndpoint. */
  async listen(): Promise<void> {
    const { endpoint, optionName, logger } = this.#options;
    await bindEndpoint(this.#server, endpoint, optionName).catch(async (error: unknown) => {
      await this.close();
      throw error;
    });
    this.#server.on("error", (error) =>
      logger.warn({ error, endpoint: describeEndpoint(endpoint) }, "a connection could not be accepted"),
    );
    warnOfMissingParts(this.#server, logger);
    this.#http1?.start();
    this.#keepalive?.start();
    this.#stallWatch.start({ [Symbol.iterator]: () => this.#connections() });
    this.#certificateWatch.start(this.#options.tls?.recheckMs);
  }

  /**
   * Accepts no more connections and removes a unix socket's file. Connections over HTTP/2 continue; those over HTTP/1.1 end once the requests that
   * have begun to arrive are answered, and those that come within `lastCallMs`: closed with a request unread, a connection is reset, and the request is
   * lost. Resolves when none of these is left.
   */
  async stopListening(lastCallMs = 0): Promise<void> {
    if (this.#server.listening) this.#server.close();
    await this.#http1?.drain(lastCallMs);
  }

  /** Drops all connections at once, and resolves when none is left. */
  async close(): Promise<void> {
    const closing = [
      // If it is not listening, it calls back with an error, which is ignored.
      new Promise<void>((resolve) => this.#server.close(() => resolve())),
      ...Array.from(
        this.#sockets,
        (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
      ),
      ...Array.from(this.sessions, (session) => new Promise<void>((resolve) => session.onClose(resolve))),
    ];
    this.#keepalive?.stop();
    this.#stallWatch.stop();
    this.#certificateWatch.stop();
    this.#http1?.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const session of this.sessions) session.destroy();
    await Promise.all(closing);
  }

  #accept(socket: Socket): void {
    // The 'close' that follows is what matters.
    socket.on("error", ignore);
    this.#sockets.add(socket);
    socket.on("close", this.#onClose);
    if (this.#transport === undefined && !this.#expectsTls(socket)) this.#serve(socket, "http1", nothing);
    else this.#sniffer.sniff(socket);
  }

  #serve(socket: Socket, protocol: SniffedProtocol, seen: Buffer): void {
    const { tls } = this.#options;
    if (tls !== undefined && !isEncrypted(socket) && (protocol === "tls" || !tls.allowsPlaintext)) {
      this.#secure(tls, socket, protocol, seen);
      return;
    }
    tls?.taken(socket);
    switch (protocol) {
      case "http2":
        this.#takeHttp2(socket, seen);
        break;
      case "http1":
        if (this.#http1 === undefined) this.#dismiss(socket, grpcOnly);
        else this.#http1.accept(socket);
        break;
      case "tls":
        this.#options.onDropped?.("tls", "a client spoke TLS to a port without it", peerAddress(socket));
        socket.destroy();
    }
  }

  #secure(tls: TlsTermination, socket: Socket, protocol: SniffedProtocol, seen: Buffer): void {
    const { memory, onDropped } = this.#options;
    const peer = peerAddress(socket);
    const onFailed: TlsEvents["onFailed"] = (reason, detail) => onDropped?.(reason, detail, peer);
    if (protocol !== "tls") {
      tls.refusePlaintext({ onFailed });
      if (protocol === "http1") this.#dismiss(socket, tlsOnly);
      else socket.destroy();
      return;
    }
    tls.accept(socket, seen, {
      peer,
      memory,
      onSecure: (secure) => {
        this.#forget(socket);
        socket.off("close", this.#onClose);
        this.#accept(secure);
      },
      onFailed,
    });
  }

  #takeHttp2(socket: Socket, seen: Buffer): void {
    // `whenReady` calls back at once, or in a later turn.
    let waits = false;
    this.#transport?.whenReady(() => {
      // The connection may have closed while it waited.
      if (socket.destroyed) return;
      this.#forget(socket);
      socket.off("close", this.#onClose);
      this.#transport?.accept(socket, seen);
      if (!waits) return;
      startReading(socket);
      socket.resume();
    }, peerAddress(socket));
    waits = this.#sockets.has(socket);
    if (!waits) return;
    // Until its turn has come, nothing more is read, and what node has read is kept.
    stopReading(socket);
    socket.pause();
  }

  /** Sends a last answer. The connection is charged meanwhile: its client may take its time to close. */
  #dismiss(socket: Socket, text: string): void {
    const { memory } = this.#options;
    if (memory?.makeRoom(peerAddress(socket)) === false) {
      socket.destroy();
      return;
    }
    const account = memory?.open(() => socket.destroy(), peerAddress(socket));
    socket.once("close", () => account?.close());
    dismissGently(socket, text);
  }

  #expectsTls(socket: Socket): boolean {
    return this.#options.tls !== undefined && !isEncrypted(socket);
  }

  /** All open connections that speak a protocol. */
  *#connections(): Generator<WatchedSession> {
    yield* this.#transport?.sessions ?? [];
    yield* this.#http1?.connections() ?? [];
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket);
    this.#sniffer.forget(socket);
  }
}

/** Without a listener, node would raise an uncaught exception. */
const ignore = (): void => undefined;
