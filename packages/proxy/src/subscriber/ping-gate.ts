import type { TransportSession } from "@bunting/rpc";

/** A peer with a window up to this size may leave that much unread: the kernel has room for it, and the write callback is signal enough. */
const ungatedWindowBytes = 256 * 1024;

/** A stream that waits at a gate. */
export interface Gated {
  passGate(): void;
}

/**
 * Holds back the next message of a stream until its peer shows, by answering a PING sent after the last one, that it reads. A write
 * callback says only that flow control let the bytes go: towards a peer with a window of megabytes that has stopped reading,
 * they pile up in the kernel, version after version. One PING is under way at a time for all streams of a session; a stream that has
 * written since it was sent waits for the next one.
 */
export class PingGate {
  static readonly #gates = new WeakMap<TransportSession, PingGate>();

  readonly #session: TransportSession;
  /** Streams that pass with the answer to the PING under way, and those that came after it was sent. */
  #waiting: Gated[] = [];
  #later: Gated[] = [];
  #isPinging = false;

  private constructor(session: TransportSession) {
    this.#session = session;
  }

  /**
   * True if streams of this session have to wait at the gate. The size of a message does not matter: one that exceeds the window is
   * taken by flow control only as the peer reads all but a window of it. PINGs cost a broadcast a quarter to a third.
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

  /** Calls `passGate` once the peer has answered; also if the session ends first, as there is nothing more to wait for. */
  wait(gated: Gated): void {
    this.#later.push(gated);
    if (!this.#isPinging) this.#ping();
  }

  #ping(): void {
    this.#waiting = this.#later;
    this.#later = [];
    this.#isPinging = true;
    const isSent = this.#session.ping(() => this.#open());
    // A session that can't be pinged any more is closing, and what is written to it goes nowhere.
    if (!isSent) this.#open();
  }

  #open(): void {
    const passing = this.#waiting;
    this.#waiting = [];
    // A stream that returns to the gate from within this waits for the next PING.
    for (const gated of passing) gated.passGate();
    this.#isPinging = false;
    if (this.#later.length > 0) this.#ping();
  }
}
