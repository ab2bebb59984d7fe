import type { TransportStream } from "@bunting/rpc";

/** Overhead of a waiting request, in bytes. */
const waitingBytes = 128;
/**
 * A stream is read on while fewer requests than this wait, and no large one does: that is all an ordinary agent sends, so that in a reconnect
 * storm few are charged for what a stream may hold while it is not read.
 */
const maxWaiting = 64;
const maxWaitingRequestBytes = 1024;

/** Requests of a stream that were received and wait to be handled. They are charged to its connection. */
export class WaitingRequests {
  readonly #stream: TransportStream;
  readonly #messages: Uint8Array[] = [];

  constructor(stream: TransportStream) {
    this.#stream = stream;
  }

  get size(): number {
    return this.#messages.length;
  }

  /** Adds a request; the stream is not read on if too many wait, or a large one does. */
  add(message: Uint8Array): void {
    this.#messages.push(message);
    this.#stream.session.account.charge(message.length + waitingBytes);
    if (this.#messages.length >= maxWaiting || message.length > maxWaitingRequestBytes)
      this.#stream.pauseReading();
  }

  /** Removes the oldest. */
  take(): Uint8Array | undefined {
    const message = this.#messages.shift();
    if (message !== undefined) this.#stream.session.account.release(message.length + waitingBytes);
    return message;
  }

  clear(): void {
    while (this.take() !== undefined);
  }
}
