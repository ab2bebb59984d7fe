import { Backoff, sleep, unexpectedFailure, untilAny } from "@bunting/runtime";
import type { SyncSource, SyncSourceOptions, SourceStatus } from "./sync-source.js";
import type { SourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";

/** What the code of a source gets that is loaded on first use. */
export interface SyncSourceParts<Config extends SourceConfig = SourceConfig> {
  readonly config: Config;
  readonly options: SyncSourceOptions;
  readonly state: SourceState;
}

/** How long after a bug, or after its code could not be loaded, the source is started again. */
const retry = { firstMs: 1_000, capMs: 60_000 };

/** The least time between two times that it is asked again: room may come and go with each edit of others, and a source sends all of its document each time. */
const pauseMs = 10_000;

/** A source whose code is loaded when it runs, so that agents without such a source pay nothing for it. */
export class OnDemandSource<Config extends SourceConfig> implements SyncSource {
  readonly name: string;
  readonly #parts: SyncSourceParts<Config>;
  readonly #load: (parts: SyncSourceParts<Config>, signal: AbortSignal) => Promise<void>;
  /** Undefined while it does not run. */
  #round: AbortController | undefined;
  #askedMs = -Infinity;
  #cancel = (): void => undefined;

  /** @param load loads the code and runs it until the signal aborts */
  constructor(
    config: Config,
    options: SyncSourceOptions,
    load: (parts: SyncSourceParts<Config>, signal: AbortSignal) => Promise<void>,
  ) {
    this.name = `source-${config.sourceIndex}`;
    this.#parts = { config, options, state: new SourceState(config, options) };
    this.#load = load;
  }

  status(): SourceStatus {
    return this.#parts.state.status();
  }

  restart(): void {
    this.#round?.abort();
  }

  askAgain(): void {
    if (this.#round === undefined) return;
    const { clock } = this.#parts.options.context;
    const waitMs = Math.max(0, this.#askedMs + pauseMs - clock.monotonicMs());
    this.#cancel();
    this.#cancel = clock.after(waitMs, () => {
      this.#askedMs = clock.monotonicMs();
      this.restart();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { state, options } = this.#parts;
    const backoff = new Backoff(retry);
    while (!signal.aborted) {
      const round = (this.#round = new AbortController());
      await untilAny([signal, round.signal], async (until) => {
        try {
          await this.#load(this.#parts, until);
        } catch (error) {
          // The other sources go on.
          state.failed(...unexpectedFailure("the source stopped", error));
          options.context.logger.debug({ error }, "a source stopped and is started again");
          await sleep(backoff.next(), until, options.context.clock);
        }
      });
    }
    this.#cancel();
    this.#round = undefined;
  }
}
