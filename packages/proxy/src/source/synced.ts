/** The state and the listeners of FlagSource's `hasSynced`. */
export class Synced {
  #listeners: (() => void)[] | undefined = [];

  get hasSynced(): boolean {
    return this.#listeners === undefined;
  }

  onSynced(listener: () => void): void {
    if (this.#listeners === undefined) listener();
    else this.#listeners.push(listener);
  }

  /** Tells the listeners, the first time. */
  reached(): void {
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
  }
}
