/** How many items are visited in one turn of the event loop. */
const itemsPerTurn = 1_000;

/** Visits all items, of which there may be tens of thousands, without blocking the event loop. The collection may change meanwhile. */
export function sweepInTurns<Item>(items: Iterable<Item>, visit: (item: Item) => void): void {
  sweep(items[Symbol.iterator](), visit);
}

function sweep<Item>(items: Iterator<Item>, visit: (item: Item) => void): void {
  for (let count = 0; count < itemsPerTurn; count++) {
    const next = items.next();
    if (next.done === true) return;
    visit(next.value);
  }
  setImmediate(() => sweep(items, visit));
}
