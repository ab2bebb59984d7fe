import { setMaxListeners } from "node:events";
import { checkOptions, type BackplaneOptions } from "@bunting/backplane";
import type { RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { aborted, createLogger, systemClock, type Clock } from "@bunting/runtime";
import { patient } from "@bunting/test/support/patience.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import type { SourceSink, SourceReport } from "../flag-source.js";
import { RecordingSink } from "../source.fixture.js";
import type { BackplaneMetrics, BackplaneReport } from "./backplane-metrics.js";
import { BackplaneSource } from "./backplane-source.js";

/** Short, because tests wait for leases to end; longer in a gate, where a replica that waits for a processor must not lose its lease. */
export const fast: Omit<BackplaneOptions, "address"> = {
  leaseMs: patient(500),
  memberMs: patient(600),
  compareMs: 300,
  stableMs: 300,
  commandTimeoutMs: patient(400),
  connectTimeoutMs: patient(400),
};

/** The objects of a cluster, which all replicas see through their ClusterSource. */
export class TestCluster {
  readonly #sources = new Set<ClusterSource>();
  readonly #objects = new Map<
    TopicKey,
    { readonly document: FlagDocument; readonly resourceVersion: string }
  >();
  #last = 100;

  add(source: ClusterSource): void {
    this.#sources.add(source);
    for (const [topic, { document, resourceVersion }] of this.#objects)
      source.publish(topic, document, { resourceVersion });
  }

  get(topic: TopicKey): string | undefined {
    return this.#objects.get(topic)?.resourceVersion;
  }

  /** Publishes a document that names its version to all replicas. A replica that is cut gets it after `mend`. */
  publish(topic: TopicKey, resourceVersion = String(++this.#last)): string {
    const document = documentOf(resourceVersion);
    this.#last = Math.max(this.#last, Number(resourceVersion));
    this.#objects.set(topic, { document, resourceVersion });
    for (const source of this.#sources) source.publish(topic, document, { resourceVersion });
    return textOf(resourceVersion);
  }

  delete(topic: TopicKey): void {
    this.#last++;
    this.#objects.delete(topic);
    for (const source of this.#sources) source.delete(topic);
  }

  /** Publishes an older version, and counts on from it, as after a restore of etcd. */
  restore(topic: TopicKey, resourceVersion: string): string {
    this.#last = Number(resourceVersion);
    return this.publish(topic, resourceVersion);
  }
}

export function documentOf(resourceVersion: string): FlagDocument {
  return { flags: { f: { state: `v${resourceVersion}` } } };
}

export function textOf(resourceVersion: string): string {
  return `{"flags":{"f":{"state":"v${resourceVersion}"}}}`;
}

/** The cluster as one replica sees it: changes may arrive late (`lagMs`), or not until the replica is mended (`cut`). */
class ClusterSource extends ScriptedSource {
  isCut = false;
  /** How late this replica's watch reports a change, in ms. */
  lagMs = 0;
  /** The last change of each topic while the replica was cut, to be reported by `mend`. */
  readonly #missed = new Map<TopicKey, () => void>();
  readonly #topics = new Set<TopicKey>();
  /** The last change of each topic that waits for `lagMs`. */
  readonly #late = new Map<TopicKey, () => void>();

  constructor(cluster: TestCluster) {
    super(systemClock, true);
    cluster.add(this);
  }

  override run(signal?: AbortSignal): Promise<void> {
    return aborted(signal ?? new AbortController().signal);
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    this.#topics.add(topic);
    signal.addEventListener("abort", () => this.#topics.delete(topic), { once: true });
    this.#catchUp(topic);
    super.watch(topic, new CuttableSink(this, sink), signal, peer);
  }

  override publish(
    topic: TopicKey,
    document: FlagDocument,
    version?: { readonly resourceVersion: string },
  ): void {
    this.#tell(topic, () => super.publish(topic, document, version));
  }

  override delete(topic: TopicKey): void {
    this.#tell(topic, () => super.delete(topic));
  }

  /** Reports a late change now, because a consistent read or a new watch finds it. */
  #catchUp(topic: TopicKey): void {
    const late = this.#late.get(topic);
    this.#late.delete(topic);
    late?.();
  }

  #tell(topic: TopicKey, tell: () => void): void {
    if (this.isCut) this.#missed.set(topic, tell);
    else if (this.lagMs === 0) tell();
    else {
      // The timer of the first change reports the last one.
      if (!this.#late.has(topic)) setTimeout(() => this.#catchUp(topic), this.lagMs);
      this.#late.set(topic, tell);
    }
  }

  override refresh(topic: TopicKey, done: () => void): () => void {
    let isCancelled = false;
    queueMicrotask(() => {
      if (isCancelled || this.isCut) return;
      this.#catchUp(topic);
      this.repeat(topic);
      done();
    });
    return () => (isCancelled = true);
  }

  /** Cuts the replica off from the API server, until `mend`. */
  cut(): void {
    this.isCut = true;
    for (const topic of this.#topics) this.stale(topic, new Error("the API server is away"));
  }

  mend(): void {
    this.isCut = false;
    for (const catchUp of this.#missed.values()) catchUp();
    this.#missed.clear();
    for (const topic of this.#topics) this.repeat(topic);
  }

  get watched(): readonly TopicKey[] {
    return [...this.#topics].sort();
  }
}

/** Reports a topic as stale if a new watch reads it while the replica is cut. */
class CuttableSink implements SourceSink {
  readonly #source: ClusterSource;
  readonly #sink: SourceSink;

  constructor(source: ClusterSource, sink: SourceSink) {
    this.#source = source;
    this.#sink = sink;
  }

  report(report: SourceReport): void {
    const isRead = report.kind === "document" || report.kind === "missing";
    if (isRead && this.#source.isCut)
      this.#sink.report({ kind: "stale", reason: new Error("the API server is away") });
    else this.#sink.report(report);
  }
}

/** Counts the calls of each metric by its label. */
export class CountingBackplaneMetrics implements BackplaneMetrics {
  readonly counts: Record<string, number> = {};
  readonly states: string[] = [];
  readonly lagsMs: number[] = [];
  report: () => BackplaneReport = () => ({
    ...{ state: "connected", stateMs: 0, replica: "", replicas: undefined },
    ...{ followed: 0, direct: 0, forOthers: 0 },
  });

  backplaneState(state: string): void {
    this.states.push(state);
  }
  backplaneLease(event: string): void {
    this.#add(event);
  }
  backplaneWritten(kind: string, records = 1): void {
    this.#add(kind, records);
  }
  backplaneWriteFailed(code: string): void {
    this.#add(code);
  }
  backplaneRecordRefused(code: string): void {
    this.#add(`refused ${code}`);
  }
  backplaneLag(lagMs: number): void {
    this.lagsMs.push(lagMs);
  }
  backplaneReport(read: () => BackplaneReport): void {
    this.report = read;
  }

  #add(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

/** One replica, from its start to `stop`. */
export class BackplaneReplica {
  readonly cluster: ClusterSource;
  readonly metrics = new CountingBackplaneMetrics();
  readonly lines: string[] = [];
  readonly source: BackplaneSource;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    cluster: TestCluster,
    redis: RedisServer | string,
    options: {
      readonly keyFile?: string;
      readonly clock?: Clock;
    } & Partial<BackplaneOptions> = {},
  ) {
    const { keyFile, clock = systemClock, ...backplane } = options;
    this.cluster = new ClusterSource(cluster);
    this.source = new BackplaneSource({
      source: this.cluster,
      backplane: checkOptions({
        address: typeof redis === "string" ? redis : redis.address,
        ...fast,
        ...backplane,
      }),
      ...(keyFile === undefined ? {} : { keyFile }),
      context: {
        clock,
        logger: createLogger({ format: "json", debug: false }, { write: (line) => this.lines.push(line) }),
        metrics: this.metrics,
      },
    });
    setMaxListeners(0, this.#stopping.signal);
    this.#running = this.source.run(this.#stopping.signal);
  }

  get report(): BackplaneReport {
    return this.metrics.report();
  }

  /** True while the replica holds the lease, and so watches for all. */
  get isOwner(): boolean {
    return this.report.lease !== undefined;
  }

  watch(topic: TopicKey, signal: AbortSignal = this.#stopping.signal): RecordingSink {
    const sink = new RecordingSink();
    this.source.watch(topic, sink, signal);
    return sink;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }
}
