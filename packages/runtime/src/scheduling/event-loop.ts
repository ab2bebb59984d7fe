import { setImmediate as immediate } from "node:timers/promises";

/** Resolves when the event loop has read what is readable by now, and has run what it was read for. */
export function nextTurn(): Promise<void> {
  return immediate();
}

/** Calls back when `nextTurn` would resolve. Returns a function that cancels it. */
export function onNextTurn(callback: () => void): () => void {
  const handle = setImmediate(callback);
  return () => clearImmediate(handle);
}

/** The event loop belongs to the process, and so does the count of its turns. */
let turn = 0;
let isEndDue = false;

/** A number that is the same for everything that happens in one turn of the event loop, and another one afterwards. */
export function currentTurn(): number {
  if (!isEndDue) {
    isEndDue = true;
    setImmediate(endTurn);
  }
  return turn;
}

function endTurn(): void {
  isEndDue = false;
  turn++;
}
