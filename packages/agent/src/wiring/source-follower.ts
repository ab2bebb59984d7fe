import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { cut, quoted, RateLimitedLog, sleep, untilAny, type Context, type Runnable } from "@bunting/runtime";
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
/** Of each kind: a proxy can tell as many lists as it likes. */
const linesPerMinute = 6;

/** Serves the FeatureFlags that the newest list of the agent's sources has. */
export class SourceFollower implements Runnable {
  readonly name = "source list";
  readonly #options: SourceFollowerOptions;
  readonly #log: RateLimitedLog;
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
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
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
      this.#log.warn(
        state,
        { topics: named(list.topics), count: list.topics.length },
        problem,
        linesPerMinute,
      );
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
    const { clock, metrics } = this.#options.context;
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
        const fields = { topics: named(topics), count: topics.length };
        this.#log.info("changed", fields, "the list of sources has changed", linesPerMinute);
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
    const isDone = await untilAny([signal, older.signal], (until) =>
      generations.switchTo(place.filledWith(topics), until),
    );
    this.#giveUp = () => undefined;
    return isDone;
  }
}

/** The first names of a list, for the log; they may be none, and of any length. */
function named(topics: readonly string[]): readonly string[] {
  return topics.slice(0, 10).map((topic) => cut(topic));
}
