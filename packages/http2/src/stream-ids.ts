/** A client that reads slowly gets to know of so many ends later than it sends. */
const maxRemembered = 64;

/** The ids of a connection's streams that are not open any more, as the client has numbered them (RFC 9113 5.1.1). */
export class StreamIds {
  /** The newest that the client has opened, or has tried to. */
  newest = 0;
  /** The newest that we have ended while their client could still send: it may not know yet. */
  #ended: Set<number> | undefined;

  /** Ignores what the client still sends on a stream. */
  ignore(id: number): void {
    const ids = (this.#ended ??= new Set()).add(id);
    if (ids.size <= maxRemembered) return;
    const [oldest = 0] = ids;
    ids.delete(oldest);
  }

  isIgnored(id: number): boolean {
    return this.#ended?.has(id) === true;
  }
}
