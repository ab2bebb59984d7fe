import { nextTurn } from "./event-loop.js";

/** The longest time that everything else of the process waits for one slice, if the steps of the work are short. */
const sliceMs = 15;

/** Does work step by step, in slices between which the event loop runs everything else. Rejects with what the work throws. */
export async function runInSlices<Result>(work: Iterator<void, Result, void>): Promise<Result> {
  for (;;) {
    const untilMs = performance.now() + sliceMs;
    do {
      const step = work.next();
      if (step.done === true) return step.value;
    } while (performance.now() < untilMs);
    await nextTurn();
  }
}

export interface SliceOptions {
  /** Items that are visited in one turn of the event loop. Default 1,000. */
  readonly perSlice?: number;
  /** Promises of `visit` that are pending at a time; the next item waits for all of them. Default: any number. */
  readonly concurrency?: number;
}

/**
 * Visits all items, of which there may be tens of thousands, in slices between which the event loop runs everything else. The first slice runs
 * before this returns. The collection may change meanwhile. Rejects with the first error of `visit`, and visits no further item then.
 */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void | Promise<void>,
  { perSlice = 1_000, concurrency = Infinity }: SliceOptions = {},
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let pending: Promise<void>[] = [];
  for (let count = 0; ; count++) {
    // Before the next item is taken, because that may be deleted during the turn.
    if (count > 0 && count % perSlice === 0) await nextTurn();
    const next = rest.next();
    if (next.done === true) break;
    const visited = visit(next.value);
    if (visited === undefined) continue;
    pending.push(visited);
    if (pending.length < concurrency) continue;
    await Promise.all(pending);
    pending = [];
  }
  await Promise.all(pending);
}
