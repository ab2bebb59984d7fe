import { aborted, RateLimitedLog, type Runnable, type Context } from "@bunting/runtime";
import { shownUri } from "./shown-uri.js";
import type { SourceConfig } from "./source-config.js";
import type { SyncMetrics } from "./sync-metrics.js";

export interface SourceFreshnessOptions {
  readonly sources: readonly Pick<SourceConfig, "provider" | "uri" | "selector" | "sourceIndex">[];
  /** `--stale-after`; 0: no source is ever stale. */
  readonly staleAfterMs: number;
  /** Called with all stale sources, by their index, when one becomes stale or is no longer. */
  readonly evaluator: { setStale(sources: ReadonlySet<number>): void };
  readonly context: Context<SyncMetrics>;
}

interface Away {
  readonly sinceMs: number;
  readonly cancel: () => void;
}

/** Of each kind and source. */
const linesPerMinute = 6;

/**
 * Since when a source has been away, so that its flags may not be the newest, or they are known not to be: from the loss
 * of its connection, the refusal of its newest document, or the start, until it has confirmed or replaced them. After `--stale-after`, it counts
 * as stale. That is one rule for sources of any kind.
 */
export class SourceFreshness implements Runnable {
  readonly name = "freshness";
  readonly #options: SourceFreshnessOptions;
  readonly #log: RateLimitedLog;
  readonly #away = new Map<number, Away>();
  /** Since when sources have been away that were followed before, in ms. */
  readonly #awayBefore = new Map<number, number>();
  #stale: ReadonlySet<number> = new Set();
  #isRunning = false;

  constructor(options: SourceFreshnessOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
  }

  /** At first all sources are away. One that is not supported has no flags which could be stale. */
  async run(signal: AbortSignal): Promise<void> {
    const { sources, context } = this.#options;
    this.#isRunning = true;
    for (const { sourceIndex, provider } of sources) {
      context.metrics.stale(sourceIndex, false);
      if (provider !== "unsupported") this.lost(sourceIndex, this.#awayBefore.get(sourceIndex));
    }
    await aborted(signal);
    this.#isRunning = false;
    for (const { cancel } of this.#away.values()) cancel();
  }

  /** The flags of a source of another list are taken over: it has been away as long as there. To be called before this runs. */
  adopt(sourceIndex: number, from: SourceFreshness, fromIndex: number): void {
    const away = from.#away.get(fromIndex);
    if (away !== undefined) this.#awayBefore.set(sourceIndex, away.sinceMs);
  }

  isStale(sourceIndex: number): boolean {
    return this.#stale.has(sourceIndex);
  }

  /** `isConfirmed`: the current document is the newest. Otherwise it can't be reached or read, or its newest document is refused. */
  contact(sourceIndex: number, isConfirmed: boolean): void {
    if (isConfirmed) this.confirmed(sourceIndex);
    else this.lost(sourceIndex);
  }

  /** The current flags of a source are the newest. */
  confirmed(sourceIndex: number): void {
    const away = this.#away.get(sourceIndex);
    if (away === undefined) return;
    away.cancel();
    this.#away.delete(sourceIndex);
    if (this.#stale.has(sourceIndex)) this.#set(sourceIndex, false);
  }

  /** A source can't be reached or read, or its newest document is refused. May be called again while it is away. */
  lost(sourceIndex: number, sinceMs = this.#options.context.clock.monotonicMs()): void {
    if (!this.#isRunning || this.#away.has(sourceIndex)) return;
    const { staleAfterMs, context } = this.#options;
    const leftMs = sinceMs + staleAfterMs - context.clock.monotonicMs();
    let cancel = (): void => undefined;
    if (staleAfterMs > 0 && leftMs <= 0) this.#set(sourceIndex, true);
    else if (staleAfterMs > 0) cancel = context.clock.after(leftMs, () => this.#set(sourceIndex, true));
    this.#away.set(sourceIndex, { sinceMs, cancel });
  }

  #set(sourceIndex: number, isStale: boolean): void {
    const { context, evaluator, sources } = this.#options;
    this.#stale = new Set(
      isStale ? [...this.#stale, sourceIndex] : [...this.#stale].filter((other) => other !== sourceIndex),
    );
    context.metrics.stale(sourceIndex, isStale);
    const { uri = "", selector = "" } = sources.find((one) => one.sourceIndex === sourceIndex) ?? {};
    const fields = { source: shownUri(uri), ...(selector === "" ? {} : { selector }), sourceIndex };
    if (isStale)
      this.#log.warn(
        `stale ${sourceIndex}`,
        fields,
        "the source has been away, or its newest document refused, for longer than --stale-after: its flags are answered with reason STALE",
        linesPerMinute,
      );
    else
      this.#log.info(
        `fresh ${sourceIndex}`,
        fields,
        "the source is back: its flags are no longer answered with reason STALE",
        linesPerMinute,
      );
    evaluator.setStale(this.#stale);
  }

  /** For how long sources have been away, in ms: 0 for those that are not. */
  *unconfirmed(): Iterable<readonly [sourceIndex: number, ms: number]> {
    const { sources, context } = this.#options;
    for (const { sourceIndex, provider } of sources) {
      if (provider === "unsupported") continue;
      const away = this.#away.get(sourceIndex);
      yield [sourceIndex, away === undefined ? 0 : context.clock.monotonicMs() - away.sinceMs];
    }
  }
}
