/** The last announcement of a shard: its id in the stream, and how many there have been. */
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
 * Where a reader is in the stream of a shard. Announcements are numbered, so that it notices when some are gone: the stream was trimmed while
 * the reader was away, emptied, or is that of another Redis that lags behind.
 */
export class ShardCursor {
  #last: Tail;

  constructor(tail: Tail) {
    this.#last = tail;
  }

  /** After which the reader goes on. */
  get id(): string {
    return this.#last.id;
  }

  /** Takes the next announcement. False if it does not follow the last. */
  advance({ id, number }: StreamEntry): boolean {
    const isNext = number === this.#last.number + 1;
    this.#last = { id, number };
    return isNext;
  }

  /**
   * Compares with the end of the stream as it is in Redis. False if the reader is past it, and would wait for announcements that never come;
   * then it goes on from that end.
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
