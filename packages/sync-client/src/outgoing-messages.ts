import type { Clock } from "@bunting/runtime";

/** A proxy sends the next version after the answer to the one before, or after an ack timeout without one: it does not get so far ahead. */
export const maxOvertaken = 16;
const maxUnsentMs = 60_000;

/**
 * The agent's messages on one stream, sent one at a time. While the transport has not taken one, because the proxy does not read, only the
 * newest of those after it is kept: an answer that is overtaken by another no longer matters to the proxy, nor does an answer before a new
 * subscription. One that is added to an answer comes after it, and is overtaken with it.
 */
export class OutgoingMessages {
  readonly #write: (message: Buffer, taken: () => void) => void;
  readonly #clock: Clock;
  #isWriting = false;
  #sinceMs = 0;
  /** The newest, and what was added to it last. */
  #waiting: readonly Buffer[] = [];
  #overtaken = 0;

  /** @param write calls `taken` once the transport has taken the message, never before it returns */
  constructor(write: (message: Buffer, taken: () => void) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  send(message: Buffer): void {
    if (this.#isWriting) {
      if (this.#waiting.length > 0) this.#overtaken++;
      this.#waiting = [message];
      return;
    }
    this.#isWriting = true;
    this.#sinceMs = this.#clock.monotonicMs();
    this.#write(message, () => this.#taken());
  }

  /** Sends a message after the last one, unless both are overtaken. */
  add(message: Buffer): void {
    if (this.#isWriting) this.#waiting = [...this.#waiting.slice(0, 1), message];
    else this.send(message);
  }

  /** The proxy goes on sending, but has not read for so long that the stream should end. */
  get isStuck(): boolean {
    if (this.#waiting.length === 0) return false;
    return this.#overtaken >= maxOvertaken || this.#clock.monotonicMs() - this.#sinceMs >= maxUnsentMs;
  }

  #taken(): void {
    const [next, ...added] = this.#waiting;
    this.#isWriting = false;
    this.#waiting = [];
    this.#overtaken = 0;
    if (next === undefined) return;
    this.send(next);
    this.#waiting = added;
  }
}
