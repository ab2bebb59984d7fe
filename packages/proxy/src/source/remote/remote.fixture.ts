import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { setMaxListeners } from "node:events";
import type { CheckedOptions } from "@bunting/backplane";
import type { FlagDocument, JsonObject, TopicKey } from "@bunting/protocol";
import {
  merging,
  type RemoteFailure,
  type RemoteKind,
  type RemoteReading,
  type SecretsRead,
} from "@bunting/remote";
import { aborted, createLogger, sleep, type Clock } from "@bunting/runtime";
import { ScriptedSource, type ScriptedVersion } from "@bunting/test/support/scripted-source.js";
import { CountingBackplaneMetrics } from "../backplane/backplane.fixture.js";
import { BackplaneSource } from "../backplane/backplane-source.js";
import { CachedSource } from "../cached/cached-source.js";
import type { FlagSource } from "../flag-source.js";
import { CountingMetrics, RecordingSink } from "../source.fixture.js";
import { FetchingSource } from "./fetching-source.js";
import type { RemoteCounts } from "./remote-metrics.js";
import type { RemoteLanguage } from "./remote-language.js";
import { RemoteSource } from "./remote-source.js";

export const topic: TopicKey = "demo/flags";

/** A document of these flags, each of which says which side it is of, and in which version. */
export function documentOf(side: string, version: number, keys: readonly string[]): FlagDocument {
  return { flags: Object.fromEntries(keys.map((key) => [key, { state: `${side} ${version}` }])) };
}

export function manyKeys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `k${String(index).padStart(2, "0")}`);
}

/** A `spec.remoteFlagProvider`, in the language of these tests. */
export function providerOf(fields: Partial<Record<keyof RemoteFlagProvider, unknown>> = {}): JsonObject {
  return {
    type: "http",
    uri: "https://remote.test/a",
    strategy: "merge",
    intervalMs: 5_000,
    ...fields,
  } as JsonObject;
}

/** Remotes by address: what each says, and how often it was asked. */
export class ScriptedRemotes implements RemoteKind {
  readonly says = new Map<string, FlagDocument | RemoteFailure | "silence">();
  readonly asked = new Map<string, number>();
  /** What each says besides that can't be served. */
  readonly leftOut = new Map<string, string>();
  /** What is presented to it; the last one only. */
  readonly presented = new Map<string, string | undefined>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(reading: RemoteReading, signal: AbortSignal): Promise<void> {
    const { uri, intervalMs } = reading.provider;
    while (!signal.aborted) {
      this.asked.set(uri, (this.asked.get(uri) ?? 0) + 1);
      this.presented.set(uri, reading.credential);
      const said = this.says.get(uri) ?? "silence";
      const leftOut = this.leftOut.get(uri);
      if (said !== "silence") {
        if ("reason" in said) reading.onFailure(said);
        else reading.onFlags(leftOut === undefined ? { document: said } : { document: said, leftOut });
      }
      await sleep(intervalMs, signal, this.#clock);
    }
  }
}

/** A provider as it is parsed, so that intervals may be as short as tests want them. */
export function languageOf(kind: RemoteKind): RemoteLanguage {
  return {
    kinds: new Map([["http", kind]]),
    parse: (written) => {
      if (typeof written["uri"] !== "string")
        throw new Error("remoteFlagProvider.uri is missing: name an address");
      return written as unknown as RemoteFlagProvider;
    },
    merging,
  };
}

/** What all replicas see. */
export class RemoteCluster {
  readonly #sources = new Set<ClusterSide>();
  #newest: { readonly document: FlagDocument; readonly version: ScriptedVersion } | undefined;
  #resourceVersion = 100;

  add(source: ClusterSide): void {
    this.#sources.add(source);
    if (this.#newest !== undefined) source.publish(topic, this.#newest.document, this.#newest.version);
  }

  remove(source: ClusterSide): void {
    this.#sources.delete(source);
  }

  publish(document: FlagDocument, provider?: JsonObject): void {
    const version = { resourceVersion: String(++this.#resourceVersion), provider };
    this.#newest = { document, version };
    for (const source of this.#sources) source.publish(topic, document, version);
  }

  delete(): void {
    this.#newest = undefined;
    for (const source of this.#sources) source.delete(topic);
  }
}

/** A replica's watch on the cluster. */
class ClusterSide extends ScriptedSource {
  override run(signal?: AbortSignal): Promise<void> {
    return aborted(signal ?? new AbortController().signal);
  }

  override refresh(refreshed: TopicKey, done: () => void): () => void {
    queueMicrotask(() => {
      this.repeat(refreshed);
      done();
    });
    return () => undefined;
  }
}

export interface RemoteReplicaOptions {
  readonly clock: Clock;
  readonly cluster: RemoteCluster;
  readonly remotes: RemoteKind;
  /** How providers are read and merged; default: as `languageOf` says. */
  readonly language?: RemoteLanguage;
  readonly cacheDir?: string;
  readonly backplane?: CheckedOptions;
  readonly secrets?: () => SecretsRead;
  /** The cluster answers nothing. */
  readonly isCut?: boolean;
}

/** One proxy's sources, from its start to `stop`. */
export class RemoteReplica {
  readonly source: RemoteSource;
  readonly cluster: ClusterSide;
  readonly lines: string[] = [];
  readonly outcomes: Record<string, number> = {};
  readonly metrics = new CountingMetrics();
  readonly backplaneMetrics = new CountingBackplaneMetrics();
  counts: () => RemoteCounts = () => {
    throw new Error("the source has registered no counts");
  };
  readonly #options: RemoteReplicaOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: RemoteReplicaOptions) {
    const { clock, cluster, remotes, cacheDir, backplane, secrets, isCut = false } = options;
    this.#options = options;
    setMaxListeners(0, this.#stopping.signal);
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => void this.lines.push(line) },
    );
    const { language = languageOf(remotes) } = options;
    this.cluster = new ClusterSide(clock, !isCut);
    const fetching = new FetchingSource({
      source: this.cluster,
      language,
      maxRemotes: 10,
      readSecrets: () => Promise.resolve(secrets?.() ?? { kind: "read", values: {} }),
      context: {
        clock,
        logger,
        metrics: { remoteAnswer: (outcome) => (this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1) },
      },
    });
    if (!isCut) cluster.add(this.cluster);
    let source: FlagSource = fetching;
    if (backplane !== undefined)
      source = new BackplaneSource({
        source,
        backplane,
        context: { clock, logger, metrics: this.backplaneMetrics },
      });
    if (cacheDir !== undefined)
      source = new CachedSource({
        source,
        sourceName: "cluster",
        directory: cacheDir,
        maxBytes: 1e6,
        context: { clock, logger, metrics: this.metrics },
      });
    this.source = new RemoteSource({
      source,
      remotes: fetching,
      language,
      context: { clock, logger, metrics: { remoteCounts: (read) => (this.counts = read) } },
    });
    this.#running = this.source.run(this.#stopping.signal);
  }

  watch(signal: AbortSignal = this.#stopping.signal, sink = new RecordingSink()): RecordingSink {
    this.source.watch(topic, sink, signal);
    return sink;
  }

  async stop(): Promise<void> {
    this.#options.cluster.remove(this.cluster);
    this.#stopping.abort();
    await this.#running;
  }
}

/** The flags of a sink's last document, each as `key: side version`. */
export function flagsOf(sink: RecordingSink): Record<string, string> {
  const { flags } = JSON.parse(sink.lastText ?? '{"flags":{}}') as {
    flags: Record<string, { state: string }>;
  };
  return Object.fromEntries(Object.entries(flags).map(([key, { state }]) => [key, state]));
}
