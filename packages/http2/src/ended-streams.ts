/** A client that reads slowly gets to know of so many ends later than it sends. */
const maxRemembered = 64;

/** The newest streams that we have ended while their clients could still send: they may not know yet. */
export class EndedStreams {
  #ids: Set<number> | undefined;

  add(streamId: number): void {
    const ids = (this.#ids ??= new Set());
    ids.add(streamId);
    if (ids.size <= maxRemembered) return;
    const [oldest = 0] = ids;
    ids.delete(oldest);
  }

  has(streamId: number): boolean {
    return this.#ids?.has(streamId) === true;
  }
}
