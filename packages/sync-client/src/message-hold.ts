/** The messages of a stream, which can be held back while another stream is about to take over. */
export class MessageHold {
  #held: (() => void)[] | undefined;

  /** Takes a message now, or when `release` is called. */
  pass(take: () => void): void {
    if (this.#held === undefined) take();
    else this.#held.push(take);
  }

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const take of held) take();
  }
}
