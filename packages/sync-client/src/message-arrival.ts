import type { SyncChannel } from "./sync-channel.js";

/** More than a peer sends in a minute that only lives: handshakes, the answers to pings, heartbeats. */
const leastBytes = 16 * 1024;

/** Tells whether a message may be arriving that is not whole yet: over a slow link, a large document takes minutes. */
export class MessageArrival {
  readonly #channel: Pick<SyncChannel, "bytesRead">;
  #seenBytes: number;

  constructor(channel: Pick<SyncChannel, "bytesRead">) {
    this.#channel = channel;
    this.#seenBytes = channel.bytesRead;
  }

  /** True if much has come since the last call. */
  goesOn(): boolean {
    const { bytesRead } = this.#channel;
    const isMuch = bytesRead - this.#seenBytes >= leastBytes;
    this.#seenBytes = bytesRead;
    return isMuch;
  }
}
