import { onNextTurn } from "@bunting/runtime";

/** A connection that has written something which the system took at once. */
export interface Writer {
  sent(): void;
}

/**
 * Writes that the system took at once: who has written is told in the next tick, one for all that a broadcast writes in a turn. Who then writes more
 * is told in the next turn: a system takes megabytes of each connection, and hundreds of connections would write for a second in one turn.
 */
class TakenWrites {
  #writers: Writer[] = [];
  #isTelling = false;
  readonly #tell = (): void => {
    const writers = this.#writers;
    this.#writers = [];
    this.#isTelling = true;
    for (const writer of writers) writer.sent();
    this.#isTelling = false;
  };

  add(writer: Writer): void {
    this.#writers.push(writer);
    if (this.#writers.length > 1) return;
    if (this.#isTelling) onNextTurn(this.#tell);
    else process.nextTick(this.#tell);
  }
}

/** The writes of this process that were taken at once. */
export const takenWrites = new TakenWrites();
