import type { TransportSession } from "@bunting/rpc";

/** Peers with windows up to this size need no gate: the kernel has room for that much, and write callbacks suffice. */
const ungatedWindowBytes = 256 * 1024;

/** A stream that waits for its peer to read. */
export interface Gated {
  passGate(): void;
}

/**
 * Delays the next message of a stream until the peer has answered a PING sent after the last one, and thereby has read it.
 * A write callback proves only that flow control let the bytes go: if a peer with a window of megabytes stops reading, they
 * pile up in the kernel, version after version. A session has one PING under way for all its streams; a stream that has
 * written since then waits for the next PING.
 */
export class PingGate {
  static readonly #gates = new WeakMap<TransportSession, PingGate>();

  readonly #session: TransportSession;
  /** Streams that wait for the PING under way, and streams that came after it was sent. */
  #waiting: Gated[] = [];
  #later: Gated[] = [];
  #isPinging = false;

  private constructor(session: TransportSession) {
    this.#session = session;
  }

  /**
   * True if streams of this session have to wait at the gate. Message size does not matter: flow control lets a message
   * larger than the window go only as the peer reads. PINGs add a quarter to a third to the cost of a broadcast.
   */
  static isNeeded(session: TransportSession): boolean {
    return session.peerWindowBytes > ungatedWindowBytes;
  }

  /** The gate that all streams of a session share. */
  static of(session: TransportSession): PingGate {
    let gate = PingGate.#gates.get(session);
    if (gate === undefined) {
      gate = new PingGate(session);
      PingGate.#gates.set(session, gate);
    }
    return gate;
  }

  /** Calls `passGate` once the peer has answered, or the session has ended. */
  wait(gated: Gated): void {
    this.#later.push(gated);
    if (!this.#isPinging) this.#ping();
  }

  #ping(): void {
    this.#waiting = this.#later;
    this.#later = [];
    this.#isPinging = true;
    const isSent = this.#session.ping(() => this.#open());
    // A session that can't be pinged is closing: what is written to it is lost anyway.
    if (!isSent) this.#open();
  }

  #open(): void {
    const passing = this.#waiting;
    this.#waiting = [];
    // A stream that comes back during this loop waits for the next PING.
    for (const gated of passing) gated.passGate();
    this.#isPinging = false;
    if (this.#later.length > 0) this.#ping();
  }
}
