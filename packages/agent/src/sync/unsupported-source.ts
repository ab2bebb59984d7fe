import { aborted } from "@bunting/runtime";
import type { SyncSource, SyncSourceOptions, SourceStatus } from "./sync-source.js";
import type { UnsupportedSourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";

/** A source that this agent can't serve. It reports that, counts as one without flags, and leaves the others alone. */
export class UnsupportedSource implements SyncSource {
  readonly name: string;
  readonly #problem: string;
  readonly #state: SourceState;

  constructor(config: UnsupportedSourceConfig, options: SyncSourceOptions) {
    this.name = `source-${config.sourceIndex}`;
    this.#problem = config.problem;
    this.#state = new SourceState(config, options);
  }

  status(): SourceStatus {
    return this.#state.status();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#state.unusable(this.#problem);
    await aborted(signal);
  }
}
