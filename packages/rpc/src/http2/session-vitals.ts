import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { hasStoppedReading } from "./socket-state.js";

/** Sweeps that a peer has to answer the PING after its reading was held; 10 s, unless the keepalive's timeout is short. */
const maxUnansweredSweeps = 5;

/** What the keepalive's sweeps know of one connection: whether its peer is heard, and whether node still listens. */
export class SessionVitals {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  #heardBytes = -1;
  #quietSweeps = 0;
  /** For how many sweeps in a row node has not been reading. */
  #deafSweeps = 0;
  /** What had been read and written at the last look between sweeps, and for how many of them in a row node has not been reading. */
  #seenRead = -1;
  #seenWritten = -1;
  #deafLooks = 0;
  #hasReadOn = false;
  /** For how many sweeps the PING after `readOn` has been without an answer; 0 without one. */
  #unansweredSweeps = 0;

  constructor(session: ServerHttp2Session, socket: Socket) {
    this.#session = session;
    this.#socket = socket;
  }

  /** For how many sweeps in a row the peer has sent nothing. */
  get quietSweeps(): number {
    return this.#quietSweeps;
  }

  /** True if nothing can come of this connection any more, as of the last sweep or look: it has failed, but the socket is still open. */
  get hasFailed(): boolean {
    return (
      this.#deafSweeps > 1 ||
      this.#deafLooks > 1 ||
      this.#unansweredSweeps > maxUnansweredSweeps ||
      (this.#quietSweeps > 0 && this.#session.destroyed)
    );
  }

  /** We have started to read after a hold: reading may be on although node had stopped it for good, so silence is checked by a PING. */
  readOn(): void {
    this.#hasReadOn = true;
  }

  /**
   * Looks between two sweeps whether node still listens. Looks may be a few turns of the event loop apart, and node does not read for a
   * moment after a write, so they count only if nothing was written since the one before.
   */
  look(isReadingPaused: boolean): void {
    const { bytesRead, bytesWritten } = this.#socket;
    const isIdle = !isReadingPaused && bytesRead === this.#seenRead && bytesWritten === this.#seenWritten;
    this.#seenRead = bytesRead;
    this.#seenWritten = bytesWritten;
    this.#deafLooks = isIdle && hasStoppedReading(this.#socket) ? this.#deafLooks + 1 : 0;
  }

  /** Counts a sweep; true if a PING has to be sent, because silence alone proves nothing. */
  countSweep(isReadingPaused: boolean): boolean {
    if (isReadingPaused) {
      // We do not hear the peer.
      this.#deafSweeps = 0;
      this.#quietSweeps = 0;
      return false;
    }
    const { bytesRead } = this.#socket;
    const isQuiet = bytesRead === this.#heardBytes;
    this.#heardBytes = bytesRead;
    this.#quietSweeps = isQuiet ? this.#quietSweeps + 1 : 0;
    this.#deafSweeps = isQuiet && hasStoppedReading(this.#socket) ? this.#deafSweeps + 1 : 0;
    const isProbeDue = isQuiet && this.#unansweredSweeps === 0 && this.#hasReadOn;
    if (isProbeDue) this.#hasReadOn = false;
    if (!isQuiet) this.#unansweredSweeps = 0;
    else if (isProbeDue || this.#unansweredSweeps > 0) this.#unansweredSweeps++;
    return isProbeDue;
  }
}
