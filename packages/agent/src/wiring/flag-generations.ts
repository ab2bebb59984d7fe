import { isDeepStrictEqual } from "node:util";
import type { Evaluator, Flag } from "@bunting/evaluation";
import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { runnableComponent, Signal, type Component } from "@bunting/runtime";
import type { CurrentFlags } from "../api/backend.js";
import { copySourceOf } from "../store/copy-source.js";
import { changeBetween } from "../store/change-between.js";
import type { FlagStore, StoreChange } from "../store/flag-store.js";
import type { ServedSource } from "../management/agent-readiness.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { FailingFlag, FollowedList, SourceMemory, SourceStatus } from "../sync/sync-source.js";
import type { AgentWiring } from "./agent-wiring.js";
import { alone, end, run, stop, takeNewer, type Generation, type KeptSource } from "./generation.js";
import { generationAnswers } from "./generation-answers.js";
import { recordedWhile, reportPlaces } from "./place-metrics.js";
import { sourcesOf, sourceSignals, type SourceSignals } from "./stored-flags.js";

export interface FlagGenerationsOptions {
  readonly wiring: AgentWiring;
  readonly evaluator: Pick<Evaluator, "setStale">;
  /** Of the sources that the agent starts with. */
  readonly configs: readonly SourceConfig[];
  readonly signals: SourceSignals;
  /** Of sources: the list that they are made of. What is told of it is what the sources that are served have been told last. */
  readonly sourceList: ((configs: readonly SourceConfig[]) => FollowedList) | undefined;
}

/** How long a proxy that can be reached is waited for without --start-wait, in ms: as long as the operator's sidecars wait. */
const usualPatienceMs = 5_000;

interface Adopted {
  /** Sources of which nothing is held. */
  readonly unread: Set<number>;
  readonly kept: readonly KeptSource[];
}

/**
 * The flags that are served, over changes of the list of sources. Other sources are a generation of their own: it takes over what is held of those
 * that stay, subscribes to the others, and takes the place of the one before in one step.
 */
export class FlagGenerations implements CurrentFlags, Pick<FlagStore, "onChange"> {
  readonly #options: FlagGenerationsOptions;
  readonly #changed = new Signal<StoreChange>();
  #isFirst = true;
  #current: Generation;

  constructor(options: FlagGenerationsOptions) {
    this.#options = options;
    this.#current = this.#make(options.configs, options.signals);
    const { metrics } = options.wiring.context;
    metrics.sources(options.configs);
    metrics.readUnconfirmed(() => this.#current.stored.freshness.unconfirmed());
    options.signals.failing.found.listen((flag) => this.#current.failing.emit(flag));
  }

  get configs(): readonly SourceConfig[] {
    return this.#current.configs;
  }

  flag(flagSetId: string, key: string): Flag | undefined {
    return this.#current.stored.store.flag(flagSetId, key);
  }

  flags(): readonly Flag[] {
    return this.#current.stored.store.flags();
  }

  onChange(listener: (change: StoreChange) => void): () => void {
    return this.#changed.listen(listener);
  }

  status(): readonly SourceStatus[] {
    return this.#current.stored.sources.map((source) => source.status());
  }

  served(): readonly ServedSource[] {
    const { store, freshness } = this.#current.stored;
    return this.status().map((status) => {
      const { sourceIndex } = status;
      return {
        status,
        servesFlags: store.servesFlags(sourceIndex),
        isStale: freshness.isStale(sourceIndex),
        name: store.documentName(sourceIndex),
        rejected: store.rejectedFlags(sourceIndex),
      };
    });
  }

  /** What runs is that of the generation that is served then: none is kept for the sake of its end. */
  components(): readonly Component[] {
    return [
      {
        name: "last-known-good",
        reason: "before the sources, so that newer documents replace it; written out after the last of them",
        start: (fail, signal) => this.#current.stored.copies.start(fail, signal),
        stop: () => this.#current.stored.copies.stop(),
      },
      {
        name: "sources",
        reason: "flags may arrive before the first request",
        start: (fail, signal) => run(this.#current, fail, signal),
        stop: () => stop(this.#current),
      },
    ];
  }

  /**
   * Serves the flags of these sources from now on, once all of them have answered. Those that have no answer `--start-wait` after their proxy could be
   * reached are no longer waited for.
   *
   * @returns false if the signal aborts before
   */
  async switchTo(configs: readonly SourceConfig[], signal: AbortSignal): Promise<boolean> {
    const { wiring, evaluator, signals } = this.#options;
    const { context, options } = wiring;
    const before = this.#current;
    const begun = sourceSignals(context.clock);
    const next = this.#make(configs, begun, before);
    const { unread, kept } = this.#adopt(next, before);
    next.stored.store.holdBeside(before.stored.store);
    before.stored.store.holdBeside(next.stored.store);
    const answers = generationAnswers(
      {
        ...{ unread, answered: begun.answered, clock: context.clock },
        status: () => next.stored.sources.map((source) => source.status()),
        patienceMs: options.startWait === 0 ? usualPatienceMs : options.startWait,
      },
      signal,
    );
    await run(next, (error) => context.logger.error({ error }, "a source has stopped"), signal);
    await answers;
    if (signal.aborted) {
      this.#forgetCopies(next);
      await end(next);
      this.#report(next);
      for (const sourceIndex of alone(before)) before.stored.sources[sourceIndex]?.restart();
      // Copies on disk may be of an older version, which the generation that ended wrote last.
      before.stored.keepCopies();
      return false;
    }
    const newer = takeNewer(next, before, kept);
    const change = changeBetween(before.stored.store.flags(), next.stored.store.flags());
    this.#current = next;
    signals.failing.forget();
    evaluator.setStale(next.stale);
    this.#notify(change);
    this.#report(before);
    if (next.told !== undefined) next.sourceList?.received(next.told);
    // Sources of the first generation answer no more, so whoever still waits for them would wait for ever.
    if (this.#isFirst) for (const { sourceIndex } of before.configs) signals.answered.emit(sourceIndex);
    this.#isFirst = false;
    this.#forgetCopies(before);
    await end(before);
    // Their streams count on something else than what is held: others offer what is, and are told the newest.
    for (const sourceIndex of [...newer, ...alone(next)]) next.stored.sources[sourceIndex]?.restart();
    // Copies on disk may be of the version before, which the generation that ended wrote last.
    next.stored.keepCopies();
    return true;
  }

  /** Of sources that are gone, but for those that the agent has begun with: it would again, if the list could not be written. */
  #forgetCopies({ configs, stored }: Generation): void {
    const needed = [...this.configs, ...this.#options.configs];
    for (const config of configs)
      if (!needed.some((other) => isSameSource(other, config))) stored.forgetCopy(config.sourceIndex);
  }

  #make(
    configs: readonly SourceConfig[],
    signals: Omit<SourceSignals, "failing">,
    before?: Generation,
  ): Generation {
    const { wiring, evaluator } = this.#options;
    const sourceList = this.#options.sourceList?.(configs);
    // A list that only the streams of another generation were told says nothing: they may be those of another proxy, which is behind.
    const received = (list: SourceFlagsMessage): void => {
      generation.told = list;
      if (this.#current === generation) sourceList?.received(list);
    };
    const setStale = (stale: ReadonlySet<number>): void => {
      generation.stale = stale;
      if (this.#current === generation) evaluator.setStale(stale);
    };
    const failing = new Signal<FailingFlag>();
    const told = { ...signals, failing };
    const { context } = wiring;
    const metrics = recordedWhile(context.metrics, () => this.#current === generation);
    const memories = configs.map((config) => memoryIn(before, config) ?? {});
    const ownWiring = { ...wiring, context: { ...context, metrics } };
    const stored = sourcesOf(ownWiring, {
      configs,
      evaluator: { setStale },
      signals: told,
      memories,
      sourceList: sourceList && { ...sourceList, received },
    });
    const generation: Generation = {
      configs,
      stored,
      failing,
      memories,
      components: [
        runnableComponent(
          stored.freshness,
          "before the sources, each of which is away until it has answered",
        ),
        ...stored.sources.map((source) =>
          runnableComponent(source, "flags may arrive before the first request"),
        ),
      ],
      stale: new Set(),
      sourceList,
      told: undefined,
    };
    stored.store.onChange((change) => {
      if (this.#current !== generation) return;
      this.#options.signals.failing.changed(change);
      this.#notify(change);
    });
    return generation;
  }

  #adopt({ configs, stored }: Generation, from: Generation): Adopted {
    const unread = new Set<number>();
    const kept: KeptSource[] = [];
    for (const config of configs) {
      const { sourceIndex } = config;
      const known = from.configs.find((other) => isSameSource(other, config));
      if (known === undefined) unread.add(sourceIndex);
      else {
        stored.store.adopt(sourceIndex, from.stored.store, known.sourceIndex);
        stored.freshness.adopt(sourceIndex, from.stored.freshness, known.sourceIndex);
        const taken = from.stored.store.currentDocument(known.sourceIndex);
        kept.push({ sourceIndex, before: known.sourceIndex, taken });
      }
    }
    return { unread, kept };
  }

  /** After this generation is not served any more, or will not be. */
  #report({ configs }: Generation): void {
    const { metrics } = this.#options.wiring.context;
    const { configs: served, stored } = this.#current;
    reportPlaces(metrics, { served, before: configs, stored });
  }

  #notify(change: StoreChange): void {
    if (change.upserted.length + change.removed.length > 0) this.#changed.emit(change);
  }
}

function memoryIn(generation: Generation | undefined, config: SourceConfig): SourceMemory | undefined {
  const known = generation?.configs.find((other) => isSameSource(other, config));
  return known && generation?.memories[known.sourceIndex];
}

function isSameSource(one: SourceConfig, other: SourceConfig): boolean {
  return isDeepStrictEqual(copySourceOf(one), copySourceOf(other));
}
