import type { TransportStream } from "@bunting/rpc";
import type { AgentRequest } from "./agent-request.js";

/** Overhead of a waiting request, and of each flag that it names, in bytes. */
const waitingBytes = 128;
const namedFlagBytes = 64;
/**
 * A stream is read on while fewer requests than this wait, and no large one does: that is all an ordinary agent sends, so that in a reconnect
 * storm few are charged for what a stream may hold while it is not read.
 */
const maxWaiting = 64;
const maxWaitingRequestBytes = 1024;

/** Requests of a stream that were received and wait to be handled. They are charged to its connection. */
export class WaitingRequests {
  readonly #stream: TransportStream;
  readonly #requests: (readonly [request: AgentRequest, chargedBytes: number])[] = [];

  constructor(stream: TransportStream) {
    this.#stream = stream;
  }

  get size(): number {
    return this.#requests.length;
  }

  /** Adds a request that came in so many bytes; the stream is not read on if too many wait, or a large one does. */
  add(request: AgentRequest, bytes: number): void {
    const namedFlags = request.$case === "ack" ? request.value.rejectedFlags.length : 0;
    const chargedBytes = bytes + waitingBytes + namedFlags * namedFlagBytes;
    this.#requests.push([request, chargedBytes]);
    this.#stream.session.account.charge(chargedBytes);
    if (this.#requests.length >= maxWaiting || bytes > maxWaitingRequestBytes) this.#stream.pauseReading();
  }

  /** Removes the oldest. */
  take(): AgentRequest | undefined {
    const [request, chargedBytes = 0] = this.#requests.shift() ?? [];
    this.#stream.session.account.release(chargedBytes);
    return request;
  }

  clear(): void {
    while (this.take() !== undefined);
  }
}
