import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { sleep, type Context, type Runnable } from "@bunting/runtime";
import type { ListFile } from "../sync/list-file.js";
import { problemOfList, type ListPlace } from "../sync/source-list.js";
import type { SyncMetrics } from "../sync/sync-metrics.js";
import type { FlagGenerations } from "./flag-generations.js";

export interface SourceFollowerOptions {
  readonly frame: string;
  readonly place: ListPlace;
  readonly generations: Pick<FlagGenerations, "configs" | "switchTo">;
  readonly file: ListFile;
  readonly context: Context<SyncMetrics>;
}

/** The shortest time between two changes of the sources, in ms. */
const pauseMs = 1_000;

/** Serves the FeatureFlags that the newest list of the agent's sources has. */
export class SourceFollower implements Runnable {
  readonly name = "source list";
  readonly #options: SourceFollowerOptions;
  /** The newest list that can be followed; undefined before there is one. */
  #wanted: readonly string[] | undefined;
  #problem: string | undefined;
  #wake = (): void => undefined;

  constructor(options: SourceFollowerOptions) {
    this.#options = options;
  }

  /** Why the agent does not serve what its sources have; undefined if it does, as far as it knows. */
  problem(): string | undefined {
    return this.#problem;
  }

  received(list: SourceFlagsMessage): void {
    const { frame, context } = this.#options;
    const unusable = problemOfList(list);
    const problem =
      unusable !== undefined
        ? `the list of its sources can't be followed: ${unusable}`
        : list.frame !== frame
          ? "the Pod is older than its FeatureFlagSource, which has changed in what only a new Pod gets: restart it"
          : undefined;
    if (problem !== undefined && problem !== this.#problem)
      context.logger.warn({ topics: list.topics.slice(0, 10) }, problem);
    this.#problem = problem;
    if (problem !== undefined) return;
    this.#wanted = list.topics;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options.context;
    const end = (): void => this.#wake();
    signal.addEventListener("abort", end, { once: true });
    while (!signal.aborted) {
      const { generations, place, file } = this.#options;
      const topics = this.#wanted;
      if (topics === undefined || topics.join() === place.topicsOf(generations.configs).join()) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (signal.aborted || this.#wanted !== topics) resolve();
        });
        continue;
      }
      if (!(await generations.switchTo(place.filledWith(topics), signal))) return;
      logger.info({ topics: topics.slice(0, 10), count: topics.length }, "the list of sources has changed");
      await file.write(topics);
      await sleep(pauseMs, signal, clock);
    }
  }
}
