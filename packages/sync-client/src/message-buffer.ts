/** A reading of messages that can be paused. */
export interface PausableReading {
  pause(): void;
  resume(): void;
}

/** Messages of a stream that can be paused while another takes over: those that still arrive wait here. */
export class MessageBuffer {
  /** Undefined while not paused. */
  #waiting: (() => void)[] | undefined;
  #reading: PausableReading | undefined;

  /** Sets the reading that the messages come from. */
  readFrom(reading: PausableReading): void {
    this.#reading = reading;
    if (this.#waiting !== undefined) reading.pause();
  }

  /** Takes a message now, or on `resume` while paused. */
  pass(take: () => void): void {
    if (this.#waiting === undefined) take();
    else this.#waiting.push(take);
  }

  pause(): void {
    this.#waiting ??= [];
    this.#reading?.pause();
  }

  resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const take of waiting) take();
    this.#reading?.resume();
  }
}
