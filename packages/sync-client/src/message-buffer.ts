/** What brings the messages. */
export interface HeldReading {
  hold(): void;
  release(): void;
}

/** The messages of a stream, which can be held back while another stream is about to take over: those that come all the same wait here, the others at the server. */
export class MessageHold {
  #held: (() => void)[] | undefined;
  #reading: HeldReading | undefined;

  /** From now on the messages come from here. */
  readFrom(reading: HeldReading): void {
    this.#reading = reading;
    if (this.#held !== undefined) reading.hold();
  }

  /** Takes a message now, or when `release` is called. */
  pass(take: () => void): void {
    if (this.#held === undefined) take();
    else this.#held.push(take);
  }

  hold(): void {
    this.#held ??= [];
    this.#reading?.hold();
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const take of held) take();
    this.#reading?.release();
  }
}
