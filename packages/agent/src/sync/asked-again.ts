import { untilAny, type Clock } from "@bunting/runtime";
import type { SourceStatus, SyncSource } from "./sync-source.js";

/** The shortest time between two such beginnings: room may come and go with each edit of others, and a source sends all of its document each time. */
const pauseMs = 10_000;

/** A source that can be begun anew while it runs, so that it brings its newest document once more. */
export class AskedAgain implements SyncSource {
  readonly name: string;
  readonly #source: SyncSource;
  readonly #clock: Clock;
  /** Undefined while it does not run. */
  #round: AbortController | undefined;
  #askedMs = -Infinity;
  #cancel = (): void => undefined;

  constructor(source: SyncSource, clock: Clock) {
    this.name = source.name;
    this.#source = source;
    this.#clock = clock;
  }

  status(): SourceStatus {
    return this.#source.status();
  }

  askAgain(): void {
    if (this.#round === undefined) return;
    const waitMs = Math.max(0, this.#askedMs + pauseMs - this.#clock.monotonicMs());
    this.#cancel();
    this.#cancel = this.#clock.after(waitMs, () => {
      this.#askedMs = this.#clock.monotonicMs();
      this.#round?.abort();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    let round: AbortController;
    do {
      this.#round = round = new AbortController();
      await untilAny([signal, round.signal], (until) => this.#source.run(until));
    } while (round.signal.aborted && !signal.aborted);
    this.#cancel();
    this.#round = undefined;
  }
}
