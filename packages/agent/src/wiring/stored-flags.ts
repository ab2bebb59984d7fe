import type { Evaluator } from "@bunting/evaluation";
import { Signal, type Clock, type Component } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import { copySourceOf, remoteCopySourceOf } from "../store/copy-source.js";
import { FailingFlags } from "../store/failing-flags.js";
import { FlagIntake } from "../store/flag-intake.js";
import type { FlagStore } from "../store/flag-store.js";
import { HeapBudget } from "../store/heap-budget.js";
import type { FailingFlag, FollowedList, SourceMemory, SyncSource } from "../sync/sync-source.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { SourceFreshness } from "../sync/source-freshness.js";
import type { AgentWiring } from "./agent-wiring.js";

/** The flags that the agent holds, and how they get there. */
export interface StoredFlags {
  readonly store: FlagStore;
  readonly sources: readonly SyncSource[];
  readonly freshness: SourceFreshness;
  readonly copies: Pick<Component, "start" | "stop">;
  /** Writes what is held of all sources to disk, although it may be there. */
  readonly keepCopies: () => void;
  /** Deletes what is on disk of a source. */
  readonly forgetCopy: (sourceIndex: number) => void;
}

/**
 * The sources that the options name.
 *
 * @throws AgentError OPTION_INVALID or SOURCE_UNSUPPORTED, with a message that says what to change.
 */
export function sourceConfigsOf({ options, parts, context }: AgentWiring): readonly SourceConfig[] {
  const configs = parts.parseSources(
    {
      uris: options.uri,
      sources: options.sources,
      credentials: options,
      remoteHosts: options.remoteHosts,
    },
    (warning) => context.logger.warn(warning),
  );
  if (configs.length === 0)
    throw AgentError.optionInvalid(
      "there is no source of flags: name one with --uri file:PATH, --uri grpc://HOST:PORT, or --sources",
    );
  new HeapBudget().checkSources(configs.length, sourcesHeapBytes(configs));
  return configs;
}

/** What becomes known of sources, by index. */
export interface SourceSignals {
  /** Each answer, whether or not there are flags. */
  readonly answered: Signal<number>;
  /** The last-known-good copy is served. */
  readonly loaded: Signal<number>;
  /** The source can't be reached, or says that its flags may not be the newest. */
  readonly lost: Signal<number>;
  /** The flags whose evaluations fail since a source has changed them. */
  readonly failing: FailingFlags;
}

export function sourceSignals(clock: Clock): SourceSignals {
  return {
    answered: new Signal(),
    loaded: new Signal(),
    lost: new Signal(),
    failing: new FailingFlags(clock),
  };
}

export interface SourcesOptions {
  readonly configs: readonly SourceConfig[];
  readonly evaluator: Pick<Evaluator, "setStale">;
  readonly signals: Omit<SourceSignals, "failing"> & { readonly failing: Signal<FailingFlag> };
  readonly sourceList: FollowedList | undefined;
  /** Memories of the sources, by their places. */
  readonly memories: readonly SourceMemory[];
}

/** Sources and a store for them. */
export function sourcesOf(
  { options, parts, context }: AgentWiring,
  { configs, evaluator, signals: { answered, loaded, lost, failing }, sourceList, memories }: SourcesOptions,
): StoredFlags {
  const store = new parts.FlagStore({
    sources: configs,
    budget: new HeapBudget(undefined, sourcesHeapBytes(configs)),
    context,
    onRoom: (crowdedOut) => {
      for (const sourceIndex of crowdedOut) sources[sourceIndex]?.askAgain();
      void intake.load();
    },
  });
  const { maxDocumentBytes } = store;
  const lastKnownGood = new parts.LastKnownGood({
    directory: options.cacheDir,
    sources: configs.map(copySourceOf),
    context,
    maxDocumentBytes,
  });
  const intake = new FlagIntake({
    store,
    lastKnownGood,
    accepted: (index) => answered.emit(index),
    loaded: (index) => loaded.emit(index),
  });
  const freshness = new parts.SourceFreshness({
    sources: configs,
    staleAfterMs: options.staleAfter,
    evaluator,
    context,
  });
  const sources = parts.createSources(configs, {
    receiver: {
      deliver: (delivery) => intake.deliver(delivery),
      currentDocument: (sourceIndex) => store.currentDocument(sourceIndex),
      answered: (sourceIndex) => answered.emit(sourceIndex),
      confirm: (sourceIndex, version) => intake.confirm(sourceIndex, version),
      contact: (sourceIndex, isConfirmed) => {
        freshness.contact(sourceIndex, isConfirmed);
        if (!isConfirmed) lost.emit(sourceIndex);
      },
      failing,
      memoryOf: (sourceIndex) => memories[sourceIndex] ?? {},
      remoteCopies: (config) =>
        new parts.LastKnownGood({
          directory: options.cacheDir,
          sources: [remoteCopySourceOf(config)],
          context,
          maxDocumentBytes,
        }),
    },
    context,
    pod: {
      environment: process.env,
      serviceAccountDirectory: options.serviceAccountDirectory,
      instance: options.instance,
    },
    sourceList,
    deletion: { policy: options.deletionPolicy, graceMs: options.deletionGrace },
    maxDocumentBytes,
  });
  const keepCopies = (): void => {
    for (const { sourceIndex } of configs) {
      const current = store.currentDocument(sourceIndex);
      if (current !== undefined) lastKnownGood.keep(sourceIndex, current.layout.bytes, current.version);
    }
  };
  const copies = { start: () => intake.load(), stop: () => lastKnownGood.flush() };
  const forgetCopy = (sourceIndex: number): void => lastKnownGood.forget(sourceIndex);
  return { store, sources, freshness, copies, keepCopies, forgetCopy };
}

/** What a source takes of the heap beside its flags, in bytes, as measured with hundreds of them. A client of gRPC is most of it. */
const heapBytes: Readonly<Record<SourceConfig["provider"], number>> = {
  grpc: 50_000,
  remote: 60_000,
  http: 20_000,
  file: 20_000,
  dir: 20_000,
  kubernetes: 20_000,
  unsupported: 1_000,
};

function sourcesHeapBytes(configs: readonly Pick<SourceConfig, "provider">[]): number {
  return configs.reduce((sum, { provider }) => sum + heapBytes[provider], 0);
}
