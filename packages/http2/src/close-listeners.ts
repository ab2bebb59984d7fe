/** Listeners of one 'close'. A single one, as most of tens of thousands of streams have, is stored without an array. */
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
