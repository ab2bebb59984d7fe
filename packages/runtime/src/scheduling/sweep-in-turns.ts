/**
 * Visits all items, of which there may be tens of thousands, so many in each turn of the event loop, which is not blocked. The collection may
 * change meanwhile.
 */
export function sweepInTurns<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
  itemsPerTurn = 1_000,
): void {
  sweep(items[Symbol.iterator](), visit, itemsPerTurn);
}

function sweep<Item>(items: Iterator<Item>, visit: (item: Item) => void, itemsPerTurn: number): void {
  for (let count = 0; count < itemsPerTurn; count++) {
    const next = items.next();
    if (next.done === true) return;
    visit(next.value);
  }
  setImmediate(() => sweep(items, visit, itemsPerTurn));
}
