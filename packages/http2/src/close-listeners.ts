import type { CloseListener } from "./transport.js";

/** Listeners of one 'close'. A single one, as most of tens of thousands of streams have, is stored without an array. */
export type CloseListeners = CloseListener | readonly CloseListener[] | undefined;

export function addCloseListener(listeners: CloseListeners, added: CloseListener): CloseListeners {
  if (listeners === undefined) return added;
  // `push` would make room for 16 more.
  return isSole(listeners) ? [listeners, added] : listeners.concat(added);
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
