import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { quoted, sleep, type Context, type Runnable } from "@bunting/runtime";
import type { ListFile } from "../sync/list-file.js";
import { problemOfList, type ListPlace, type ListState, type SourceListOption } from "../sync/source-list.js";
import type { SyncMetrics } from "../sync/sync-metrics.js";
import type { FlagGenerations } from "./flag-generations.js";

export interface SourceFollowerOptions {
  readonly list: SourceListOption;
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
  #state: ListState = "untold";
  /** Why the newest list can't be followed. */
  #problem = "";
  #wake = (): void => undefined;
  /** Ends the change that is under way, whose list is not the newest any more. */
  #giveUp: (newest: readonly string[]) => void = () => undefined;

  constructor(options: SourceFollowerOptions) {
    this.#options = options;
    options.context.metrics.listState(this.#state);
  }

  /** Which list the agent follows, and whether it does, for the body of /readyz. */
  line(): string {
    const { list, place, generations } = this.#options;
    const { namespace, text } = list.name;
    const served = place.topicsOf(generations.configs);
    const count = `${served.length} FeatureFlags`;
    const isDue = this.#wanted !== undefined && this.#wanted.join() !== served.join();
    const due = isDue ? `; the newest has ${this.#wanted?.length ?? 0}, whose flags are waited for` : "";
    const says: Readonly<Record<ListState, string>> = {
      untold: `no proxy has told it; served are the ${count} of the arguments, or of the last list`,
      followed: `followed, ${count}${due}`,
      older: `not followed, ${count}: ${this.#problem}`,
      unusable: `not followed, ${count}: ${this.#problem}`,
    };
    return `list of the sources ${quoted(text)} of ${namespace}: ${says[this.#state]}`;
  }

  received(list: SourceFlagsMessage): void {
    const { context } = this.#options;
    const { state, problem } = this.#judge(list);
    if (problem !== "" && problem !== this.#problem)
      context.logger.warn({ topics: list.topics.slice(0, 10) }, problem);
    this.#state = state;
    this.#problem = problem;
    context.metrics.listState(state);
    if (state !== "followed") return;
    this.#wanted = list.topics;
    this.#giveUp(list.topics);
    this.#wake();
  }

  #judge(list: SourceFlagsMessage): { readonly state: ListState; readonly problem: string } {
    const unusable = problemOfList(list);
    if (unusable !== undefined)
      return { state: "unusable", problem: `the list of its sources can't be followed: ${unusable}` };
    if (list.frame === this.#options.list.frame) return { state: "followed", problem: "" };
    const problem =
      "the Pod is older than its FeatureFlagSource, which has changed in what only a new Pod gets: restart it";
    return { state: "older", problem };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics } = this.#options.context;
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
      if (await this.#switchTo(topics, signal)) {
        metrics.listChanged();
        logger.info({ topics: topics.slice(0, 10), count: topics.length }, "the list of sources has changed");
        await file.write(topics);
      }
      await sleep(pauseMs, signal, clock);
    }
  }

  /** False if a newer list has come meanwhile. */
  async #switchTo(topics: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { generations, place } = this.#options;
    const older = new AbortController();
    this.#giveUp = (newest) => {
      if (newest.join() !== topics.join()) older.abort();
    };
    const isDone = await generations.switchTo(
      place.filledWith(topics),
      AbortSignal.any([signal, older.signal]),
    );
    this.#giveUp = () => undefined;
    return isDone;
  }
}
