import { onNextTurn } from "@bunting/runtime";

/** A connection that has written something which the system took at once. */
export interface Writer {
  sent(): void;
}

/** Writes of a turn after which those who write more wait for the next one: 4 MB, if each is a full batch, which take a millisecond. */
const maxPerTurn = 16;

/**
 * Writes that the system took at once: who has written is told in the next tick, one for all that a broadcast writes in a turn. Once a turn has had
 * many, those that follow are told of in the next one: a system takes megabytes of each connection, and hundreds of connections would write for a
 * second in one turn. A few have their turns to themselves: a turn costs as much as to write some of a batch.
 */
class TakenWrites {
  #writers: Writer[] = [];
  /** Writes in this turn that were told of. */
  #told = 0;
  readonly #tell = (): void => {
    const writers = this.#writers;
    this.#writers = [];
    if (this.#told === 0) onNextTurn(this.#beginTurn);
    this.#told += writers.length;
    for (const writer of writers) writer.sent();
  };
  readonly #beginTurn = (): void => {
    this.#told = 0;
    if (this.#writers.length > 0) this.#tell();
  };

  add(writer: Writer): void {
    this.#writers.push(writer);
    if (this.#writers.length === 1 && this.#told < maxPerTurn) process.nextTick(this.#tell);
  }
}

/** The writes of this process that were taken at once. */
export const takenWrites = new TakenWrites();
