import { constants } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { connectionBytes, type OpenAccount, type PeerMemory } from "../limits/peer-memory.js";
import type { CertificatePair, TlsCertificate } from "./tls-certificate.js";

export interface TlsTerminationOptions {
  readonly certificate: TlsCertificate;
  /** How long a handshake may take; at most a second while others wait for their turn, so that stuck ones hardly delay them. Default 10 s. */
  readonly timeoutMs?: number;
  /** How many handshakes may be under way; further connections wait. Default 256. */
  readonly maxHandshakes?: number;
}

/** What becomes of a connection. */
export interface TlsEvents {
  /** Its account is charged for TLS until the connection closes. */
  readonly memory: PeerMemory | undefined;
  /** The handshake is done: what is read from this socket, and written to it, is plaintext. */
  readonly onSecure: (socket: TLSSocket) => void;
  /** The connection has ended, or is about to. `detail` says why the handshake failed. */
  readonly onFailed: (reason: "tls" | "memory", detail?: string) => void;
}

interface Handshake {
  readonly events: TlsEvents;
  readonly account: OpenAccount | undefined;
  sweeps: number;
}

/** What OpenSSL and node hold during a handshake, beyond what an account charges for a connection. */
const handshakeBytes = 24 * 1024;
/** How long a handshake may take while others wait: far longer than those of clients that answer. */
const crowdedTimeoutMs = 1_000;
const maxStepMs = 250;

/**
 * TLS for the ports of a process: makes of each socket one that node:http2 and node:http read as they read a socket without TLS. Versions from
 * TLS 1.2 on, ALPN for HTTP/2 and HTTP/1.1, session tickets. Connections keep the certificate that they began with.
 *
 * A handshake costs a millisecond of the processor and tens of kilobytes, for a client that has proven nothing yet. So connections are charged
 * before it, and only so many handshakes are under way at a time. Time is counted in sweeps, as in PrefaceSniffer and for the same reason.
 */
export class TlsTermination {
  readonly #server: Server;
  readonly #maxHandshakes: number;
  readonly #timeoutMs: number;
  readonly #stepMs: number;
  readonly #waiting = new Map<Socket, Handshake>();
  readonly #running = new Map<Socket, Handshake>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ certificate, timeoutMs = 10_000, maxHandshakes = 256 }: TlsTerminationOptions) {
    this.#timeoutMs = timeoutMs;
    this.#stepMs = Math.min(maxStepMs, timeoutMs / 4);
    this.#maxHandshakes = maxHandshakes;
    // It never listens: connections are emitted to it.
    this.#server = createServer({ ALPNProtocols: ["h2", "http/1.1"] });
    this.#server.on("secureConnection", (socket) => this.#finish(socket));
    this.#server.on("tlsClientError", (error, socket) => this.#fail(rawSocketOf(socket), describe(error)));
    certificate.onPair((pair) => this.#use(pair));
  }

  /** Begins the handshake on a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket, events: TlsEvents): void {
    const { memory } = events;
    if (memory?.makeRoom(connectionBytes + handshakeBytes) === false) {
      events.onFailed("memory");
      socket.destroy();
      return;
    }
    const account = memory?.open(() => {
      events.onFailed("memory");
      this.#leave(socket);
      socket.destroy();
    });
    account?.charge(handshakeBytes);
    this.#waiting.set(socket, { events, account, sweeps: 0 });
    socket.once("close", () => {
      this.#leave(socket);
      account?.close();
    });
    this.#timer ??= setInterval(() => this.#sweep(), this.#stepMs);
    this.#beginNext();
  }

  #use({ cert, key }: CertificatePair): void {
    this.#server.setSecureContext({
      cert,
      key,
      minVersion: "TLSv1.2",
      // With TLS 1.2, each renegotiation costs as much as a handshake.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
  }

  #beginNext(): void {
    for (const [socket, handshake] of this.#waiting) {
      if (this.#running.size >= this.#maxHandshakes) return;
      this.#waiting.delete(socket);
      if (socket.destroyed) continue;
      this.#running.set(socket, handshake);
      this.#server.emit("connection", socket);
    }
  }

  #finish(socket: TLSSocket): void {
    const raw = rawSocketOf(socket);
    const handshake = this.#running.get(raw);
    if (handshake === undefined) {
      // It has just been ended.
      socket.destroy();
      return;
    }
    this.#leave(raw);
    handshake.account?.release(handshakeBytes);
    // The connection gets an account of its own for what it does; this one must never be ended as one that does nothing.
    handshake.account?.begin();
    handshake.events.onSecure(socket);
  }

  #fail(raw: Socket, detail: string): void {
    const handshake = this.#running.get(raw);
    raw.destroy();
    if (handshake === undefined) return;
    this.#leave(raw);
    handshake.events.onFailed("tls", detail);
  }

  #leave(raw: Socket): void {
    this.#waiting.delete(raw);
    if (this.#running.delete(raw)) this.#beginNext();
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const isCrowded = this.#waiting.size > 0;
    const timeoutMs = isCrowded ? Math.min(crowdedTimeoutMs, this.#timeoutMs) : this.#timeoutMs;
    for (const [socket, handshake] of this.#running) {
      if (handshake.sweeps++ * this.#stepMs < timeoutMs) continue;
      this.#fail(socket, `the handshake did not end within ${timeoutMs / 1_000} s`);
    }
  }
}

/** The socket below. Node's types do not have it; node:tls itself relies on it. */
function rawSocketOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent: Socket })._parent;
}

function describe(error: Error & { readonly reason?: string; readonly code?: string }): string {
  if (error.code === "ECONNRESET") return "the client closed the connection during the handshake";
  return `the handshake failed: ${error.reason ?? error.message}`;
}
