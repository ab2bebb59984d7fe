/** The event loop is the process's, and so is the count of its turns. */
let turn = 0;
let isEndDue = false;

/** A number that is the same for all that happens in one turn of the event loop, and another afterwards. */
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
