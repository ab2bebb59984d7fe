import type { Http2Stream } from "./http2-stream.js";

/** A client that reads slowly gets to know of so many ends later than it sends. */
const maxRemembered = 64;

/** The streams of a connection, by their ids, as its client has numbered them (RFC 9113 5.1). */
export class StreamTable {
  readonly #open = new Map<number, Http2Stream>();
  /** The newest that we have ended while their client could still send: it may not know yet. */
  #ended: Set<number> | undefined;
  /** The id of the newest that the client has opened, or has tried to. */
  newestId = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Those that are open, oldest first. */
  get all(): Iterable<Http2Stream> {
    return this.#open.values();
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id);
  }

  add(stream: Http2Stream): void {
    this.#open.set(stream.id, stream);
  }

  /** False if it is not open. */
  delete({ id }: Http2Stream): boolean {
    return this.#open.delete(id);
  }

  /** We end a stream, on which its client may still send. */
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
