/** How many are remembered: who has not answered in two minutes may be taken at their word. */
const maxDigests = 4;

/**
 * What an agent was sent of one topic and did not answer in time; the answers may come yet. An answer names a digest, and the document
 * may have come back to what it was: so the answer to a message that was given up looks like that to the one sent since. Agents answer
 * in the order in which they were sent, so it is taken for the older one, unless nothing else was sent between the two.
 */
export class GivenUp {
  /** In the order in which they were sent; empty for what asked for no answer. */
  #digests: string[] = [];
  #hasForgotten = false;

  /** True if no answer can be late. */
  get isEmpty(): boolean {
    return this.#digests.length === 0 && !this.#hasForgotten;
  }

  add(digest: string): void {
    this.#digests.push(digest);
    if (this.#digests.length <= maxDigests) return;
    this.#digests.shift();
    this.#hasForgotten = true;
  }

  /** Something is sent that asks for no answer, after which the agent holds nothing. */
  addEnd(): void {
    if (!this.isEmpty) this.add("");
  }

  has(digest: string): boolean {
    return this.#digests.includes(digest);
  }

  /** An answer to what has this digest has come; it may be the one to `sent`. */
  take(digest: string, sent: string): "sent" | "late" | "nothing" {
    const index = this.#digests.indexOf(digest);
    if (index >= 0) {
      this.#digests.splice(0, index + 1);
      if (digest !== sent || this.#digests.some((each) => each !== digest)) return "late";
      // It answers both; there is one answer more to come than messages that wait for one.
      this.#digests.push(digest);
      return "sent";
    }
    if (digest !== sent) return this.#hasForgotten ? "late" : "nothing";
    // What came before it will not be answered any more.
    this.#digests = [];
    this.#hasForgotten = false;
    return "sent";
  }
}
