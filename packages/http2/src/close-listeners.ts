import type { CloseListener } from "./transport.js";

/** Listeners of one 'close'. A single one, or two, as tens of thousands of streams have, are stored without an array. */
export type CloseListeners = CloseListener | readonly CloseListener[] | undefined;

/** Two listeners as one: smaller than an array of them. */
class BothListeners {
  readonly #one: CloseListener;
  readonly #other: CloseListener;

  constructor(one: CloseListener, other: CloseListener) {
    this.#one = one;
    this.#other = other;
  }

  onClosed(): void {
    callCloseListeners(this.#one);
    callCloseListeners(this.#other);
  }
}

export function addCloseListener(listeners: CloseListeners, added: CloseListener): CloseListeners {
  if (listeners === undefined) return added;
  // `push` would make room for 16 more.
  if (!isSole(listeners)) return listeners.concat(added);
  return listeners instanceof BothListeners ? [listeners, added] : new BothListeners(listeners, added);
}

export function callCloseListeners(listeners: CloseListeners): void {
  if (listeners === undefined) return;
  if (!isSole(listeners)) for (const listener of listeners) callCloseListeners(listener);
  else if (typeof listeners === "function") listeners();
  else listeners.onClosed();
}

function isSole(listeners: CloseListener | readonly CloseListener[]): listeners is CloseListener {
  return !Array.isArray(listeners);
}
