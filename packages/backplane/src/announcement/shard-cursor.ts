/** The last announcement of a shard: its id in the stream, and its number. */
export interface Tail {
  readonly id: string;
  readonly number: number;
}

/** An announcement as it is in a stream. */
export interface StreamEntry {
  readonly id: string;
  /** NaN if it has none. */
  readonly number: number;
}

/**
 * A reader's position in the stream of a shard. Announcements are numbered, so that a reader notices a gap: the stream
 * was trimmed while the reader was away, was emptied, or is that of another Redis that lags behind.
 */
export class ShardCursor {
  #last: Tail;

  constructor(tail: Tail) {
    this.#last = tail;
  }

  /** The id of the last announcement that was read. */
  get id(): string {
    return this.#last.id;
  }

  /** Takes the next announcement. False if there is a gap before it. */
  advance({ id, number }: StreamEntry): boolean {
    const isNext = number === this.#last.number + 1;
    this.#last = { id, number };
    return isNext;
  }

  /**
   * Compares with the end of the stream in Redis. False if the reader is past that end, and would wait for
   * announcements that never come; the reader then continues from that end.
   */
  meet(tail: Tail): boolean {
    const isBehind = compareIds(tail.id, this.#last.id) >= 0 && tail.number >= this.#last.number;
    if (!isBehind) this.#last = tail;
    return isBehind;
  }
}

/** Ids are two numbers, a time and a count: `1700000000000-3`. */
function compareIds(a: string, b: string): number {
  const [timeA = 0, countA = 0] = a.split("-").map(Number);
  const [timeB = 0, countB = 0] = b.split("-").map(Number);
  return timeA - timeB || countA - countB;
}
