import type { Socket } from "node:net";
import { currentTurn, Sweep, systemClock } from "@bunting/runtime";
import { peerAddress, type TurnReader, type TurnShare } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { startReading, stopReading } from "../node-internals/socket-handle.js";
import { wholeClientHelloBytes } from "../tls/client-hello.js";

/** The first bytes of HTTP/2 clients (RFC 9113 3.4). */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const tlsHandshake = 0x16;
/** What a silent connection takes. One that holds more counts as several. */
export const silentBytes = 2.5 * 1024;
/** The part of the memory for peers that silent connections may take. */
const silentShare = 1 / 16;
/** The part that they may take before the first of them are ended: a flood would open ten thousand before any has had its time. */
const floodShare = 1 / 4;
const sweepsPerTimeout = 4;
/** A silent client has ten times `timeoutMs` while there are at most `maxSilent` of them. */
const quietTimeoutFactor = 10;

export type SniffedProtocol = "http2" | "http1" | "tls";

/** How long connections may be silent, and how many of them. */
export interface SilenceLimits {
  /** Time to reveal the protocol while more than `maxSilent` clients are silent, or up to 1/4 more; else ten times as long. */
  readonly timeoutMs: number;
  /** Silent clients that may have the longer time. Beyond it, the oldest have `timeoutMs`. */
  readonly maxSilent: number;
  /** Silent clients that there may be at all. Beyond it, the oldest are given up at once, once they had a turn to be read. */
  readonly maxSilentHard: number;
}

/** @param budgetBytes of the memory for peers, in addition to which silent connections may take a part */
export function silenceWithin(budgetBytes: number, timeoutMs: number): SilenceLimits {
  return {
    timeoutMs,
    maxSilent: (budgetBytes * silentShare) / silentBytes,
    maxSilentHard: (budgetBytes * floodShare) / silentBytes,
  };
}

export interface PrefaceSnifferOptions {
  /** Pauses new connections in a turn that has had its work: otherwise 64 KB or more of each would wait uncharged. */
  readonly turns: ReadFairness;
  readonly silence: SilenceLimits;
  /** True if the connection should begin with TLS: it is silent until its ClientHello is whole, or can't become one. */
  readonly expectsTls: (socket: Socket) => boolean;
  /**
   * @param seen the bytes that were read. Those of HTTP/2 are for who takes the connection over, whose socket flows on; others were put back,
   *   and the socket is paused
   */
  readonly onSniffed: (socket: Socket, protocol: SniffedProtocol, seen: Buffer) => void;
  /** @param hasSent false if not a single byte came */
  readonly onTimeout: (socket: Socket, hasSent: boolean) => void;
  /** More than `maxSilentHard` clients are silent, and this is one of the oldest. */
  readonly onTooManySilent: (socket: Socket) => void;
}

/** A connection whose protocol is not known yet. */
class SilentConnection implements TurnReader {
  readonly share: TurnShare;
  readonly #socket: Socket;
  seen: Buffer | undefined;
  sweeps = 0;
  /** Turn of the event loop from which on the connection is read; undefined while it is paused since the start. */
  turn: number | undefined;

  constructor(socket: Socket, turns: ReadFairness) {
    this.#socket = socket;
    this.share = turns.enterUnread(this, peerAddress(socket));
    this.turn = this.share.isPaused ? undefined : currentTurn();
  }

  /** Called by `ReadFairness` only. */
  pauseForTurn(): void {
    stopReading(this.#socket);
  }

  /** Called by `ReadFairness` only. */
  resumeAfterTurn(): void {
    startReading(this.#socket);
    this.turn ??= currentTurn();
  }
}

/**
 * Finds out which protocol a new connection speaks. A connection is _silent_ until it has sent enough to tell, and, where it has to speak TLS, a
 * whole ClientHello: a handshake that can't go on would take the place of one that can.
 *
 *     sniff ──> silent ──> onSniffed (http2, http1, tls): the server of the protocol gets all that was read
 *                     ├──> onTimeout: silent for too many sweeps
 *                     └──> onTooManySilent: more than `maxSilentHard` are silent
 *
 * Invariants:
 * - `#silent` is in the order of accepting: the oldest is given up first.
 * - Up to `maxSilent` clients have ten times `timeoutMs`, because a client's process may be seconds late: the system connects
 *   it before the process runs, for instance when it opens ten thousand connections or starts beside a hundred others on a
 *   busy node. Beyond `maxSilent`, the oldest have `timeoutMs`.
 * - A client is given up as one too many only after a whole turn in which it was read: a turn accepts all connections of a
 *   reconnect storm, and the next one reads what they have sent.
 * - Time is counted in sweeps, and a late sweep counts once. The event loop may be seconds late in a storm, and a timer for
 *   each client would fire before the bytes that the client sent in time are read.
 * - A sweep does not count for a client that is paused for its turn: its bytes may be there.
 */
export class PrefaceSniffer {
  readonly #options: PrefaceSnifferOptions;
  readonly #silent = new Map<Socket, SilentConnection>();
  #heldBytes = 0;
  readonly #onData: (this: Socket, chunk: Buffer) => void;
  readonly #sweep: Sweep;

  constructor(options: PrefaceSnifferOptions) {
    this.#options = options;
    this.#sweep = new Sweep(systemClock, options.silence.timeoutMs / sweepsPerTimeout, () => this.#look());
    const read = this.#read.bind(this);
    this.#onData = function (chunk) {
      read(this, chunk);
    };
  }

  /** Begins to read the socket. Call `forget` when it closes. */
  sniff(socket: Socket): void {
    this.#silent.set(socket, new SilentConnection(socket, this.#options.turns));
    // Not 'readable', for which node takes five ticks more of each of ten thousand.
    socket.on("data", this.#onData);
    this.#sweep.start();
    this.#giveUpOldest();
  }

  /** Stops reading the socket. */
  forget(socket: Socket): void {
    const silent = this.#silent.get(socket);
    if (silent === undefined) return;
    this.#silent.delete(socket);
    this.#heldBytes -= silent.seen?.length ?? 0;
    // The protocol's server enters the connection into the turns again.
    if (silent.share.isPaused) startReading(socket);
    silent.share.leave();
    socket.off("data", this.#onData);
    if (this.#silent.size === 0) this.#sweep.stop();
  }

  #read(socket: Socket, chunk: Buffer): void {
    const silent = this.#silent.get(socket);
    if (silent === undefined) return;
    silent.share.read(chunk.length);
    const seen = silent.seen === undefined ? chunk : Buffer.concat([silent.seen, chunk]);
    const protocol = protocolOf(seen);
    const isCut =
      protocol === "tls" && this.#options.expectsTls(socket) && wholeClientHelloBytes(seen) === undefined;
    if (protocol === undefined || isCut) {
      silent.seen = seen;
      this.#heldBytes += chunk.length;
      this.#giveUpOldest();
      return;
    }
    this.forget(socket);
    if (protocol !== "http2") {
      socket.pause();
      socket.unshift(seen);
    }
    this.#options.onSniffed(socket, protocol, seen);
  }

  /** As how many connections these count. */
  get #weight(): number {
    return this.#silent.size + this.#heldBytes / silentBytes;
  }

  #giveUpOldest(): void {
    if (this.#weight <= this.#options.silence.maxSilentHard) return;
    const turn = currentTurn();
    for (const [socket, silent] of this.#silent) {
      const isNew = silent.turn === undefined || turn - silent.turn < 2;
      if (this.#weight <= this.#options.silence.maxSilentHard || isNew) return;
      this.forget(socket);
      this.#options.onTooManySilent(socket);
    }
  }

  #look(): void {
    let tooMany = this.#weight - this.#options.silence.maxSilent;
    for (const [socket, silent] of this.#silent) {
      // Its bytes are not read meanwhile.
      if (silent.share.isPaused) continue;
      const maxSweeps = tooMany-- > 0 ? sweepsPerTimeout : quietTimeoutFactor * sweepsPerTimeout;
      if (silent.sweeps++ < maxSweeps) continue;
      this.forget(socket);
      this.#options.onTimeout(socket, silent.seen !== undefined);
    }
  }
}

/** Undefined while the bytes may become the preface. The whole preface counts: no deadline applies after it. */
function protocolOf(seen: Buffer): SniffedProtocol | undefined {
  const length = Math.min(seen.length, preface.length);
  if (seen.compare(preface, 0, length, 0, length) === 0)
    return length === preface.length ? "http2" : undefined;
  return seen[0] === tlsHandshake ? "tls" : "http1";
}
