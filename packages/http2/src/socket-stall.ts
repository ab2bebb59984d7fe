/** Notices that the peer of a connection takes nothing of what was written to it. */
export class SocketStall {
  readonly #clock: { readonly tick: number };
  #unsentBytes = 0;
  #since = 0;

  /** @param clock counts up with time */
  constructor(clock: { readonly tick: number }) {
    this.#clock = clock;
  }

  /**
   * To be called once in each tick; true if something has waited for the peer since that tick or before, and it has taken nothing since.
   *
   * @param bytes how many were written to the socket and not taken by the system
   */
  isStalledSince(tick: number, bytes: number): boolean {
    if (bytes === 0 || bytes !== this.#unsentBytes) {
      this.#unsentBytes = bytes;
      this.#since = this.#clock.tick;
    }
    return bytes > 0 && this.#since <= tick;
  }
}
