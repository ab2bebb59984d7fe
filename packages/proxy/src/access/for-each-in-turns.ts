import { setImmediate } from "node:timers/promises";

const perTurn = 256;
const maxUnderWay = 64;

/** Calls back for each item, with other work of the event loop in between, and with so many promises under way at most. */
export async function forEachInTurns<Item>(
  items: Iterable<Item>,
  handle: (item: Item) => void | Promise<void>,
): Promise<void> {
  let left = perTurn;
  let underWay: Promise<void>[] = [];
  for (const item of items) {
    const handled = handle(item);
    if (handled !== undefined) underWay.push(handled);
    if (underWay.length >= maxUnderWay) {
      await Promise.all(underWay);
      underWay = [];
    }
    if (--left > 0) continue;
    left = perTurn;
    await setImmediate();
  }
  await Promise.all(underWay);
}
