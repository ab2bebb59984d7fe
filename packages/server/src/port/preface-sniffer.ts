import type { Socket } from "node:net";
import { currentTurn, Sweep, systemClock } from "@bunting/runtime";
import type { TurnShare } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { startReading, stopReading } from "../node-internals/socket-handle.js";

/** What HTTP/2 clients send first (RFC 9113 3.4). */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const tlsHandshake = 0x16;
/** The head of a record and of the handshake message in it, which has the size of the ClientHello. */
const tlsHeadBytes = 9;
const sweepsPerTimeout = 4;
const patience = 10;

export type SniffedProtocol = "http2" | "http1" | "tls";

export interface PrefaceSnifferOptions {
  /** A new connection is not read in a turn that has had its work: the first 64 KB or more of each would wait for a later one, charged to nobody. */
  readonly turns: ReadFairness;
  /** How long a client may take to reveal its protocol while too many do; it may get up to a quarter more. Otherwise it has ten times as long. */
  readonly timeoutMs: number;
  /** More clients than this that have not revealed their protocol are too many: those that connected first get the shorter time. */
  readonly patientWith: number;
  /** With more than this, those that connected first are given up at once, unless what they sent may not have been read yet. */
  readonly bearsWith: number;
  /** True if the connection should begin with TLS: then so much of it is read that `clientHelloBytes` can be asked. */
  readonly expectsTls: (socket: Socket) => boolean;
  /** `seen` are the bytes that were read and put back. */
  readonly onSniffed: (socket: Socket, protocol: SniffedProtocol, seen: Buffer) => void;
  readonly onTimeout: (socket: Socket) => void;
  /** The client is one too many. */
  readonly onCrowded: (socket: Socket) => void;
}

interface Unknown {
  readonly share: TurnShare;
  seen: Buffer | undefined;
  sweeps: number;
  /** Of the event loop, in which it was accepted, or read first if that turn had had its work; undefined until then. */
  turn: number | undefined;
}

/**
 * Finds out which protocol a new connection speaks. The bytes it reads are put back, so that the protocol's server sees all of them.
 *
 * A client's time is counted in sweeps instead of by one timer each: in a reconnect storm the event loop may be seconds late, and timers
 * that expired meanwhile would fire before the bytes that the clients sent in time are read. A sweep counts once, however late it is.
 *
 * A client's own process may be seconds late as well: the system has connected it long before it is told, if it connects ten thousand times at
 * once or starts beside a hundred others on a busy node. So a client that says nothing has a long time, as long as there are few of them.
 */
export class PrefaceSniffer {
  readonly #options: PrefaceSnifferOptions;
  readonly #unknown = new Map<Socket, Unknown>();
  readonly #onReadable: (this: Socket) => void;
  readonly #sweep: Sweep;

  constructor(options: PrefaceSnifferOptions) {
    this.#options = options;
    this.#sweep = new Sweep(systemClock, options.timeoutMs / sweepsPerTimeout, () => this.#look());
    const read = this.#read.bind(this);
    this.#onReadable = function () {
      read(this);
    };
  }

  /** Begins to read the socket. Call `forget` when it closes. */
  sniff(socket: Socket): void {
    const share = this.#options.turns.enterUnread({
      holdReading: () => stopReading(socket),
      continueReading: () => {
        startReading(socket);
        unknown.turn ??= currentTurn();
      },
    });
    const turn = share.isHeld ? undefined : currentTurn();
    const unknown: Unknown = { share, seen: undefined, sweeps: 0, turn };
    this.#unknown.set(socket, unknown);
    socket.on("readable", this.#onReadable);
    this.#sweep.start();
    if (this.#unknown.size > this.#options.bearsWith) this.#giveUpSome();
  }

  /** Stops reading the socket. */
  forget(socket: Socket): void {
    const unknown = this.#unknown.get(socket);
    if (unknown === undefined) return;
    this.#unknown.delete(socket);
    // Who takes it over enters the turns anew.
    if (unknown.share.isHeld) startReading(socket);
    unknown.share.leave();
    socket.off("readable", this.#onReadable);
    if (this.#unknown.size === 0) this.#sweep.stop();
  }

  #read(socket: Socket): void {
    const unknown = this.#unknown.get(socket);
    const chunk = socket.read() as Buffer | null;
    if (unknown === undefined || chunk === null) return;
    const seen = unknown.seen === undefined ? chunk : Buffer.concat([unknown.seen, chunk]);
    const protocol = protocolOf(seen);
    const isCut = protocol === "tls" && seen.length < tlsHeadBytes && this.#options.expectsTls(socket);
    if (protocol === undefined || isCut) {
      unknown.seen = seen;
      return;
    }
    this.forget(socket);
    socket.unshift(seen);
    this.#options.onSniffed(socket, protocol, seen);
  }

  #giveUpSome(): void {
    const turn = currentTurn();
    for (const [socket, unknown] of this.#unknown) {
      // A turn accepts all that have connected, thousands in a reconnect storm, and the next one reads what they have sent.
      const isNew = unknown.turn === undefined || turn - unknown.turn < 2;
      if (this.#unknown.size <= this.#options.bearsWith || isNew) return;
      this.forget(socket);
      this.#options.onCrowded(socket);
    }
  }

  #look(): void {
    let tooMany = this.#unknown.size - this.#options.patientWith;
    for (const [socket, unknown] of this.#unknown) {
      // What it has sent is not read meanwhile.
      if (unknown.share.isHeld) continue;
      const maxSweeps = tooMany-- > 0 ? sweepsPerTimeout : patience * sweepsPerTimeout;
      if (unknown.sweeps++ < maxSweeps) continue;
      this.forget(socket);
      this.#options.onTimeout(socket);
    }
  }
}

/** The size that the ClientHello at the start of a connection announces; Infinity if that is not in its first record, where all clients have it. */
export function clientHelloBytes(seen: Buffer): number {
  const recordBytes = seen.readUInt16BE(3);
  return recordBytes < 4 ? Number.POSITIVE_INFINITY : seen.readUIntBE(6, 3);
}

/** Undefined while the bytes may still become the preface. It must be complete, because there is no deadline for what follows it. */
function protocolOf(seen: Buffer): SniffedProtocol | undefined {
  const length = Math.min(seen.length, preface.length);
  if (seen.compare(preface, 0, length, 0, length) === 0)
    return length === preface.length ? "http2" : undefined;
  return seen[0] === tlsHandshake ? "tls" : "http1";
}
