/**
 * Listeners of one 'close', stored compactly: there are tens of thousands of streams, and most have no listener or one, so a single
 * listener is stored without an array.
 */
export type CloseListeners = (() => void) | (() => void)[] | undefined;

export function addCloseListener(listeners: CloseListeners, added: () => void): CloseListeners {
  if (listeners === undefined) return added;
  if (typeof listeners === "function") return [listeners, added];
  // `push` would make room for 16 more.
  return listeners.concat(added);
}

export function callCloseListeners(listeners: CloseListeners): void {
  if (listeners === undefined) return;
  if (typeof listeners === "function") listeners();
  else for (const listener of listeners) listener();
}
