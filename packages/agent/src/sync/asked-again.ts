import type { SourceStatus, SyncSource } from "./sync-source.js";

/** A source that can be begun anew while it runs, so that it brings its newest document once more. */
export class AskedAgain implements SyncSource {
  readonly name: string;
  readonly #source: SyncSource;
  #round = new AbortController();

  constructor(source: SyncSource) {
    this.name = source.name;
    this.#source = source;
  }

  status(): SourceStatus {
    return this.#source.status();
  }

  askAgain(): void {
    this.#round.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    do {
      this.#round = new AbortController();
      await this.#source.run(AbortSignal.any([signal, this.#round.signal]));
    } while (this.#round.signal.aborted && !signal.aborted);
  }
}
