import type { Socket } from "node:net";
import { unsentBytes } from "./socket-state.js";

/** Notices that the peer of a connection takes nothing of what was written to it. */
export class SocketStall {
  readonly #socket: Socket;
  readonly #clock: { readonly tick: number };
  #unsentBytes = 0;
  #since = 0;

  /** @param clock counts up with time */
  constructor(socket: Socket, clock: { readonly tick: number }) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** To be called once in each tick; true if something has waited for the peer since that tick or before, and it has taken nothing since. */
  isStalledSince(tick: number): boolean {
    const bytes = unsentBytes(this.#socket);
    if (bytes === 0 || bytes !== this.#unsentBytes) {
      this.#unsentBytes = bytes;
      this.#since = this.#clock.tick;
    }
    return bytes > 0 && this.#since <= tick;
  }
}
