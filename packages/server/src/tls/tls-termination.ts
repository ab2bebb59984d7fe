import { constants, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { OpenAccount } from "@bunting/http2";
import { Counts, FairQueue, onNextTurn, Sweep, systemClock } from "@bunting/runtime";
import type { PeerMemory } from "../limits/peer-memory.js";
import { heldByCertificates, heldByHandshake } from "./certificate-memory.js";
import { maxClientHelloBytes, wholeClientHelloBytes } from "./client-hello.js";
import { rawSocketOf, secureConnection } from "../node-internals/raw-socket.js";
import { connectionClosed, handshakeFailure, type HandshakeFailure } from "./handshake-failure.js";
import type { CertificatePair, TlsCertificate } from "./tls-certificate.js";
import type { HandshakeResult } from "./tls-metrics.js";
import { verifyClient, type TlsClients } from "./verify-client.js";

export interface TlsTimes {
  /** Time for a handshake. Default 10 s. */
  readonly timeoutMs?: number;
  /** Time for a handshake while other connections wait: far more than live clients need, and so short that stuck ones hardly delay others. Default 1 s. */
  readonly crowdedTimeoutMs?: number;
  /** Life of the key by which clients resume sessions. It is also replaced at each change of a certificate. Default an hour. */
  readonly ticketKeyMs?: number;
  /** Interval of the checks of client certificates; default 10 s. */
  readonly recheckMs?: number;
}

export interface TlsTerminationOptions {
  readonly certificate: Pick<TlsCertificate, "onPair">;
  /** Clients are asked for a certificate. */
  readonly clients?: TlsClients | undefined;
  /** Serves clients that speak plaintext, too: their first byte tells them from those that speak TLS. */
  readonly allowsPlaintext?: boolean;
  /** Called for each handshake, and for each client that is refused because it spoke plaintext. */
  readonly onHandshake?: ((result: HandshakeResult) => void) | undefined;
  readonly times?: TlsTimes;
  /** Concurrent handshakes; further connections wait. Default 256. */
  readonly maxHandshakes?: number;
}

/** What TlsTermination has to know of a connection, and tells about it. */
export interface TlsEvents {
  /** Address of the client. Addresses take turns to begin handshakes. */
  readonly peer: string;
  /** Its account is charged for TLS until the connection closes. */
  readonly memory: PeerMemory | undefined;
  /** The handshake is done: what is read from this socket, and written to it, is plaintext. */
  readonly onSecure: (socket: TLSSocket) => void;
  /** The connection has ended, or is about to. `detail` is the reason why the handshake failed. */
  readonly onFailed: (reason: "tls" | "memory", detail?: string) => void;
}

interface Handshake {
  readonly events: TlsEvents;
  readonly account: OpenAccount | undefined;
  /** Version of the authorities by which OpenSSL verifies the client's certificate: that of the begin of the handshake, even if they change meanwhile. */
  authoritiesVersion: number;
  /** Bytes that the account is charged beyond those of an ordinary handshake. */
  heldBytes: number;
  /** Number of sweeps since it is running. */
  sweeps: number;
}

/**
 * What OpenSSL and node hold for a connection with TLS, during its handshake as well as afterwards, and in addition if its client is asked for a
 * certificate. Most of it is outside of V8. Measured as the growth of a process with each of hundreds of idle subscribers, it depends on node, on its
 * allocator and on the client: 24 to 60 KiB, and up to 76 with a certificate. No option of node:tls changes that much: it is 2 KiB less without tickets.
 */
const tlsBytes = 48 * 1024;
const clientCertificateBytes = 12 * 1024;
/** Bytes that a client may send in a handshake; a second ClientHello may follow the first. */
const maxHandshakeReadBytes = 64 * 1024;
const usualTimes = { timeoutMs: 10_000, crowdedTimeoutMs: 1_000, ticketKeyMs: 3_600_000, recheckMs: 10_000 };
const maxStepMs = 250;
/** Handshakes that begin in one turn of the event loop: each takes up to a millisecond. */
const handshakesPerTurn = 8;

/**
 * TLS for the ports of a process: makes of each socket one that the servers of HTTP/2 and HTTP/1.1 read as they read a socket without TLS. Versions from
 * TLS 1.2 on, ALPN for HTTP/2 and HTTP/1.1, session tickets. Connections keep the certificate that they began with; those of clients whose own
 * certificate is no longer good are ended by PortListener.
 *
 * A handshake costs a millisecond of the processor and tens of kilobytes, for a client that has proven nothing yet. So connections are charged
 * before it, and only so many handshakes are under way at a time. Addresses take turns to begin one, and one address has at most as many under way
 * as are left to the others: those of a flood do not delay a new client from elsewhere. Time is counted in sweeps, as in PrefaceSniffer and for the same reason.
 */
export class TlsTermination {
  readonly allowsPlaintext: boolean;
  /** Interval of the checks of client certificates; undefined if none are asked for. */
  readonly recheckMs: number | undefined;
  readonly #clients: TlsClients | undefined;
  readonly #onHandshake: (result: HandshakeResult) => void;
  readonly #server: Server;
  readonly #maxHandshakes: number;
  readonly #times: Required<TlsTimes>;
  readonly #stepMs: number;
  /** Handshakes that have not begun, by their raw socket. */
  readonly #waiting = new Map<Socket, Handshake>();
  /** The sockets of #waiting, by address. */
  readonly #queue = new FairQueue<Socket>();
  readonly #running = new Map<Socket, Handshake>();
  /** Accounts of connections whose handshake is done, by what `onSecure` was called with. */
  readonly #accounts = new WeakMap<Socket, OpenAccount>();
  /** Number of running handshakes by address. */
  readonly #runningOf = new Counts<string>();
  readonly #sweep: Sweep;
  #isNextTurnAsked = false;
  #begunInTurn = 0;
  #pair: CertificatePair | undefined;
  #ticketKeySinceMs = 0;

  /** @param protocols by ALPN. Clients that may choose take HTTP/2, so a port without it must not offer it. */
  constructor(options: TlsTerminationOptions, protocols = ["h2", "http/1.1"]) {
    const { certificate, clients, maxHandshakes = 256 } = options;
    this.allowsPlaintext = options.allowsPlaintext === true;
    this.#times = { ...usualTimes, ...options.times };
    this.recheckMs = clients === undefined ? undefined : this.#times.recheckMs;
    this.#clients = clients;
    this.#onHandshake = options.onHandshake ?? (() => undefined);
    this.#stepMs = Math.min(maxStepMs, this.#times.timeoutMs / 4);
    this.#sweep = new Sweep(systemClock, this.#stepMs, () => this.#look());
    this.#maxHandshakes = maxHandshakes;
    // Never listens: connections are emitted to it.
    this.#server = createServer({
      ALPNProtocols: protocols,
      requestCert: clients !== undefined,
      // Node refuses clients without a certificate by this, so it must be false where a certificate is only requested.
      rejectUnauthorized: clients?.isRequired === true,
    });
    this.#server.on("secureConnection", (socket) => this.#finish(socket));
    this.#server.on("tlsClientError", (error, socket) =>
      this.#fail(rawSocketOf(socket), handshakeFailure(error, socket)),
    );
    certificate.onPair((pair) => {
      this.#pair = pair;
      this.#renew();
    });
    clients?.authorities.onChange(() => this.#renew());
  }

  /**
   * Begins the handshake on a connection.
   *
   * @param seen what was read, and put back with `unshift`: at least the whole ClientHello
   */
  accept(socket: Socket, seen: Buffer, events: TlsEvents): void {
    const { memory } = events;
    if ((wholeClientHelloBytes(seen) ?? Infinity) > maxClientHelloBytes) {
      const detail = `the handshake did not begin with a ClientHello of at most ${maxClientHelloBytes} bytes`;
      this.#report(events, { result: "size", detail });
      socket.destroy();
      return;
    }
    const baseBytes = tlsBytes + (this.#clients === undefined ? 0 : clientCertificateBytes);
    if (memory?.makeRoom(events.peer, baseBytes) === false) {
      events.onFailed("memory");
      socket.destroy();
      return;
    }
    const end = (): void => {
      events.onFailed("memory");
      this.#leave(socket);
      socket.destroy();
    };
    const account = memory?.open(end, events.peer, baseBytes);
    this.#waiting.set(socket, { events, account, authoritiesVersion: 0, heldBytes: 0, sweeps: 0 });
    this.#queue.add(events.peer, socket);
    socket.once("close", () => {
      account?.close();
      // A turn later, because the TLS socket closes after this one: if it reports an error, that is the better reason.
      if (this.#running.has(socket)) onNextTurn(() => this.#fail(socket, connectionClosed));
      else this.#leave(socket);
    });
    this.#sweep.start();
    this.#beginNext();
  }

  /** To be called for each client that is refused because it spoke plaintext. */
  refusePlaintext(events: Pick<TlsEvents, "onFailed">): void {
    this.#report(events, { result: "plaintext", detail: "a client spoke plaintext to a port with TLS" });
  }

  /**
   * To be called when a server takes over the socket of `onSecure`: what the connection does is charged to another account, so this one must never be
   * ended for being idle. Until then the connection is idle, and ended for new ones: it has said nothing.
   */
  taken(socket: Socket): void {
    this.#accounts.get(socket)?.begin();
  }

  /** Has new connections use the newest certificate and authorities. Earlier sessions can't be resumed, because the key of their tickets is replaced. */
  #renew(): void {
    const authorities = this.#clients?.authorities;
    // Without authorities OpenSSL would take those that browsers trust.
    if (this.#pair === undefined || authorities?.version === 0) return;
    const { cert, key } = this.#pair;
    this.#server.setSecureContext({
      cert,
      key,
      ...(authorities === undefined ? {} : { ca: authorities.pem }),
      minVersion: "TLSv1.2",
      // With TLS 1.2, each renegotiation costs as much as a handshake.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
    this.#renewTicketKey();
  }

  #renewTicketKey(): void {
    this.#ticketKeySinceMs = performance.now();
    this.#server.setTicketKeys(randomBytes(48));
  }

  #beginNext(): void {
    if (performance.now() - this.#ticketKeySinceMs > this.#times.ticketKeyMs) this.#renewTicketKey();
    for (const [peer, socket] of this.#queue.heads()) {
      const free = this.#maxHandshakes - this.#running.size;
      if (free <= 0 || this.#begunInTurn === handshakesPerTurn) return;
      const handshake = this.#waiting.get(socket);
      const running = this.#runningOf.of(peer as string);
      if (handshake === undefined || running > free) continue;
      this.#leaveQueue(socket, handshake);
      this.#queue.moveToBack(peer);
      if (socket.destroyed) continue;
      this.#running.set(socket, handshake);
      this.#runningOf.add(handshake.events.peer, 1);
      handshake.authoritiesVersion = this.#clients?.authorities.version ?? 0;
      this.#begunInTurn++;
      this.#askForNextTurn();
      secureConnection(this.#server, socket);
    }
  }

  #askForNextTurn(): void {
    if (this.#isNextTurnAsked) return;
    this.#isNextTurnAsked = true;
    onNextTurn(() => {
      this.#isNextTurnAsked = false;
      this.#begunInTurn = 0;
      this.#beginNext();
    });
  }

  #finish(socket: TLSSocket): void {
    const raw = rawSocketOf(socket);
    const handshake = this.#running.get(raw);
    if (handshake === undefined) {
      // The handshake was ended, for want of memory or time, while OpenSSL completed it.
      socket.destroy();
      return;
    }
    const failure = this.#clients && verifyClient(socket, this.#clients, handshake.authoritiesVersion);
    if (failure !== undefined) {
      this.#fail(raw, failure);
      return;
    }
    this.#leave(raw);
    if (handshake.account !== undefined) this.#accounts.set(socket, handshake.account);
    const sentBytes = raw.bytesRead;
    // A turn later, because `sentBytes` may include the first requests of the client: their plaintext is read in this turn, and taken off then.
    onNextTurn(() => charge(handshake, heldByCertificates(sentBytes - socket.bytesRead)));
    this.#onHandshake(socket.isSessionReused() ? "resumed" : "done");
    handshake.events.onSecure(socket);
  }

  #fail(raw: Socket, failure: HandshakeFailure): void {
    const handshake = this.#running.get(raw);
    raw.destroy();
    if (handshake === undefined) return;
    this.#leave(raw);
    this.#report(handshake.events, failure);
  }

  #report({ onFailed }: Pick<TlsEvents, "onFailed">, { result, detail }: HandshakeFailure): void {
    this.#onHandshake(result);
    // A connection that the client has closed needs no report.
    if (result !== "closed") onFailed("tls", detail);
  }

  #leaveQueue(raw: Socket, { events }: Handshake): void {
    this.#waiting.delete(raw);
    this.#queue.delete(events.peer, raw);
  }

  #leave(raw: Socket): void {
    const waiting = this.#waiting.get(raw);
    if (waiting !== undefined) this.#leaveQueue(raw, waiting);
    const { peer } = this.#running.get(raw)?.events ?? {};
    if (peer !== undefined && this.#running.delete(raw)) {
      this.#runningOf.add(peer, -1);
      this.#beginNext();
    }
    // Waiting handshakes are about to begin, so their time has to be counted too.
    if (this.#running.size + this.#waiting.size > 0) return;
    this.#sweep.stop();
  }

  #look(): void {
    const { timeoutMs: longestMs, crowdedTimeoutMs } = this.#times;
    const timeoutMs = this.#waiting.size > 0 ? Math.min(crowdedTimeoutMs, longestMs) : longestMs;
    for (const [socket, handshake] of this.#running) {
      if (socket.bytesRead > maxHandshakeReadBytes) {
        this.#fail(socket, {
          result: "size",
          detail: `the client sent more than ${maxHandshakeReadBytes} bytes before the handshake was done`,
        });
        continue;
      }
      charge(handshake, heldByHandshake(socket.bytesRead));
      if (handshake.sweeps++ * this.#stepMs < timeoutMs) continue;
      const detail = `the handshake did not end within ${timeoutMs / 1_000} s`;
      this.#fail(socket, { result: "timeout", detail });
    }
  }
}

function charge(handshake: Handshake, heldBytes: number): void {
  handshake.account?.release(handshake.heldBytes);
  handshake.account?.charge(heldBytes);
  handshake.heldBytes = heldBytes;
}
