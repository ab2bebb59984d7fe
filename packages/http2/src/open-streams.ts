/** The streams of a connection that are open, by their ids, oldest first. Most connections never have a second, and need no table for one. */
export class OpenStreams<Stream extends { readonly id: number }> {
  #sole: Stream | undefined;
  /** All of them, once there were two at a time. */
  #all: Map<number, Stream> | undefined;

  get size(): number {
    return this.#all?.size ?? Number(this.#sole !== undefined);
  }

  get(id: number): Stream | undefined {
    if (this.#all !== undefined) return this.#all.get(id);
    return this.#sole?.id === id ? this.#sole : undefined;
  }

  add(stream: Stream): void {
    if (this.#all === undefined && this.#sole === undefined) {
      this.#sole = stream;
      return;
    }
    if (this.#sole !== undefined) this.#all = new Map([[this.#sole.id, this.#sole]]);
    this.#sole = undefined;
    this.#all?.set(stream.id, stream);
  }

  /** False if it is not there. */
  delete(stream: Stream): boolean {
    if (this.#all !== undefined) return this.#all.delete(stream.id);
    if (this.#sole !== stream) return false;
    this.#sole = undefined;
    return true;
  }

  values(): Iterable<Stream> {
    return this.#all?.values() ?? (this.#sole === undefined ? [] : [this.#sole]);
  }
}
