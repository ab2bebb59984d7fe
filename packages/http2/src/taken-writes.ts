/** A connection that has written something which the system took at once. */
export interface Writer {
  sent(): void;
}

/** Writes that the system took at once: who has written is told in the next tick, one for all that a broadcast writes in a turn. */
class TakenWrites {
  #writers: Writer[] = [];
  readonly #tell = (): void => {
    const writers = this.#writers;
    this.#writers = [];
    for (const writer of writers) writer.sent();
  };

  add(writer: Writer): void {
    this.#writers.push(writer);
    if (this.#writers.length === 1) process.nextTick(this.#tell);
  }
}

/** The writes of this process that were taken at once. */
export const takenWrites = new TakenWrites();
