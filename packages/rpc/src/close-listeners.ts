/**
 * Listeners of one end, as compact as they get: most streams have none or one, and there are tens of thousands of streams, so a
 * lone listener is kept without an array around it.
 */
export type CloseListeners = (() => void) | (() => void)[] | undefined;

export function addCloseListener(listeners: CloseListeners, added: () => void): CloseListeners {
  if (listeners === undefined) return added;
  if (typeof listeners === "function") return [listeners, added];
  listeners.push(added);
  return listeners;
}

export function callCloseListeners(listeners: CloseListeners): void {
  if (listeners === undefined) return;
  if (typeof listeners === "function") listeners();
  else for (const listener of listeners) listener();
}
