/** Connects a sender to listeners that are made after it. Nothing is kept for a listener that comes later. */
export class Signal<T = void> {
  readonly #listeners = new Set<(value: T) => void>();

  /** Calls the listener each time from now on, until the returned function is called. */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
