export interface HeldRefresh {
  /** Begins the read; undefined if the source can't read again, and what is known is all there is. */
  readonly start: (finish: () => void) => (() => void) | undefined;
  /** Called once, when the read has ended or is cancelled. */
  readonly released: () => void;
  /** Called after `released`, unless the read is cancelled. */
  readonly done: () => void;
}

/** Runs a read for whose time something is held. Returns a function that cancels. */
export function holdRefresh({ start, released, done }: HeldRefresh): () => void {
  let isOver = false;
  const end = (): boolean => {
    if (isOver) return false;
    isOver = true;
    released();
    return true;
  };
  const finish = (): void => {
    if (end()) done();
  };
  const cancel = start(finish);
  if (cancel === undefined) queueMicrotask(finish);
  return () => {
    cancel?.();
    end();
  };
}
