import { initialWindowBytes } from "./frames.js";

/** What a peer may still send, on a stream or on all of a connection. It is opened again in steps of half its size. */
export class IncomingWindow {
  #bytes = initialWindowBytes;
  #handledBytes = 0;

  /** Counts what the peer has sent; false if that is more than it may. */
  take(bytes: number): boolean {
    this.#bytes -= bytes;
    return this.#bytes >= 0;
  }

  /** So many bytes were handled. Returns by how many the window opens now, which the peer must be told; mostly 0. */
  credit(bytes: number): number {
    this.#handledBytes += bytes;
    const opened = this.#handledBytes;
    if (opened < initialWindowBytes >>> 1) return 0;
    this.#bytes += opened;
    this.#handledBytes = 0;
    return opened;
  }
}
