import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { JsonObject, TopicKey } from "@bunting/protocol";
import { RemoteFetch, type RemoteState, type RemoteStateName, type RemoteSink } from "@bunting/remote";
import { RateLimitedLog, untilAny, type Context, type Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { FlagSource, SourceSink } from "../flag-source.js";
import { keepUntil } from "../keep-until.js";
import { WrappingSource } from "../wrapping-source.js";
import { FairPlaces } from "./fair-places.js";
import { featureFlagOf, isRemoteKey, remoteKeyOf } from "./remote-key.js";
import type { RemoteLanguage } from "./remote-language.js";
import type { RemoteMetrics } from "./remote-metrics.js";
import type { ReadSecrets } from "./remote-secrets.js";

export interface FetchingSourceOptions {
  readonly source: FlagSource;
  readonly language: Pick<RemoteLanguage, "kinds" | "parse">;
  readonly readSecrets: ReadSecrets;
  readonly maxRemotes: number;
  readonly context: Context<Pick<RemoteMetrics, "remoteAnswer">>;
}

/** What is known of a remote by the replica that reads it. */
export interface FetchReport {
  readonly state: RemoteState;
  /** Since when it has been in that state, in ms of the monotonic clock. */
  readonly sinceMs: number;
  readonly answeredMs: number | undefined;
  /** What its document is served without, as a sentence. */
  readonly leftOut: string | undefined;
}

interface Noted {
  readonly text: string;
  readonly key: TopicKey;
  readonly provider: RemoteFlagProvider;
}

interface Watched {
  /** The FeatureFlag that names it. */
  readonly topic: TopicKey;
  readonly namespace: string;
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  reading?: {
    readonly fetch: RemoteFetch;
    readonly text: string;
    readonly stop: AbortController;
    sinceMs: number;
  };
  /** Since when it is not read, because as many others are as may be, in ms of the monotonic clock. */
  waitsSinceMs?: number;
}

/**
 * The source of FeatureFlags, with the documents of remotes as topics beside them. A remote is read while it is watched, and its FeatureFlag, which
 * names it, is watched here too: so a replica that only follows another one reads none.
 */
export class FetchingSource extends WrappingSource {
  readonly #options: FetchingSourceOptions;
  readonly #noted = new Map<TopicKey, Noted>();
  readonly #watched = new Map<TopicKey, Watched>();
  readonly #running = new Set<Promise<void>>();
  /** Of those that are read, by namespace: one with hundreds of FeatureFlags keeps no other from its remotes. */
  readonly #places: FairPlaces<Watched>;
  /** Those that are not read, because as many others are as may be. */
  readonly #waiting = new Set<Watched>();
  readonly #remarks: RateLimitedLog;
  #signal: AbortSignal | undefined;

  constructor(options: FetchingSourceOptions) {
    super(options.source);
    this.#options = options;
    this.#places = new FairPlaces(options.maxRemotes);
    this.#remarks = new RateLimitedLog(options.context.logger, options.context.clock);
  }

  override async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const key of this.#watched.keys()) this.#settle(key);
    await super.run(signal);
    await Promise.all(this.#running);
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    if (isRemoteKey(topic)) this.#watchRemote(topic, sink, signal);
    else {
      this.source.watch(
        topic,
        noting(sink, (provider) => this.note(topic, provider)),
        signal,
        peer,
      );
      signal.addEventListener("abort", () => this.note(topic, undefined), { once: true });
    }
  }

  /** What a remote says is current as far as its interval goes. */
  override refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    if (!isRemoteKey(topic) && this.source.refresh !== undefined) return super.refresh(topic, done, peer);
    let isCancelled = false;
    queueMicrotask(() => {
      if (!isCancelled) done();
    });
    return () => (isCancelled = true);
  }

  /** A FeatureFlag that is watched names this provider; undefined if it names none, or is not watched any more. */
  note(topic: TopicKey, written: JsonObject | undefined): void {
    const before = this.#noted.get(topic);
    if (written === undefined && before === undefined) return;
    const noted = written && this.#parsed(topic, written);
    if (noted === undefined) this.#noted.delete(topic);
    else this.#noted.set(topic, noted);
    if (before !== undefined) this.#settle(before.key);
    if (noted !== undefined) this.#settle(noted.key);
  }

  /** What is known of the FeatureFlag's remote; undefined if this replica does not read it. */
  reportOf(topic: TopicKey): FetchReport | undefined {
    const noted = this.#noted.get(topic);
    const watched = noted && this.#watched.get(noted.key);
    if (watched?.waitsSinceMs !== undefined) return this.#waitReport(watched.sink, watched.waitsSinceMs);
    const reading = watched?.reading;
    if (reading === undefined) return undefined;
    const { fetch, sinceMs } = reading;
    return { state: fetch.state, answeredMs: fetch.answeredMs, leftOut: fetch.leftOut, sinceMs };
  }

  /** All remotes that this replica reads. */
  *reports(): Iterable<FetchReport> {
    for (const topic of this.#noted.keys()) {
      const report = this.reportOf(topic);
      if (report !== undefined) yield report;
    }
  }

  #watchRemote(key: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    const topic = featureFlagOf(key);
    if (topic === undefined) return;
    const watched: Watched = { topic, namespace: topic.slice(0, topic.indexOf("/")), sink, signal };
    keepUntil(signal, this.#watched, [key, watched], () => {
      this.#end(watched);
      this.#beginWaiting();
    });
    // Sinks are never called from within `watch`.
    queueMicrotask(() => {
      if (signal.aborted) return;
      // What there is of earlier processes is served until the remote answers.
      const reason = new ProxyError("REMOTE_UNREADABLE", "the remote has not answered yet");
      sink.report({ kind: "stale", reason });
      this.#settle(key);
    });
  }

  /** A provider that can't be parsed is told where it is merged, which every replica does. */
  #parsed(topic: TopicKey, written: JsonObject): Noted | undefined {
    try {
      const provider = this.#options.language.parse(written);
      // Another strategy asks nothing anew.
      const text = JSON.stringify({ ...provider, strategy: undefined });
      return { text, key: remoteKeyOf(topic, provider), provider };
    } catch {
      return undefined;
    }
  }

  /** Begins to read a remote, ends that, or begins anew with another provider, as the present state demands. */
  #settle(key: TopicKey): void {
    const watched = this.#watched.get(key);
    if (watched === undefined) return;
    const noted = this.#noted.get(watched.topic);
    const wanted = noted?.key === key ? noted : undefined;
    // One that waits keeps its turn over edits of its FeatureFlag.
    const isWaiting = watched.waitsSinceMs !== undefined;
    if (isWaiting ? wanted !== undefined : watched.reading?.text === wanted?.text) return;
    this.#end(watched);
    if (wanted !== undefined) this.#begin(watched, wanted);
    this.#beginWaiting();
  }

  #end(watched: Watched): void {
    this.#places.delete(watched.namespace, watched);
    watched.reading?.stop.abort();
    delete watched.reading;
    delete watched.waitsSinceMs;
    this.#waiting.delete(watched);
  }

  /** As many of those that wait as there is room for: the first ones of the namespaces that have fewest. */
  #beginWaiting(): void {
    while (!this.#places.isFull) {
      let next: Watched | undefined;
      for (const watched of this.#waiting)
        if (next === undefined || this.#hasFewer(watched, next)) next = watched;
      if (next === undefined) return;
      const noted = this.#noted.get(next.topic);
      this.#end(next);
      if (noted !== undefined && this.#watched.get(noted.key) === next) this.#begin(next, noted);
    }
  }

  #hasFewer({ namespace }: Watched, other: Watched): boolean {
    return this.#places.countOf(namespace) < this.#places.countOf(other.namespace);
  }

  #waitReport(sink: SourceSink, sinceMs: number): FetchReport {
    const failure = {
      reason: "TooManyRemotes",
      message: `this proxy reads ${this.#options.maxRemotes} remotes, and no more than --max-remotes says: raise it, and the memory limit, or let fewer FeatureFlags name one`,
    };
    const kind = sink.flags?.() === undefined ? "never" : "stale";
    return { state: { kind, failure }, sinceMs, answeredMs: undefined, leftOut: undefined };
  }

  #wait(watched: Watched): void {
    watched.waitsSinceMs = this.#options.context.clock.monotonicMs();
    this.#waiting.add(watched);
    const { failure } = this.#waitReport(watched.sink, watched.waitsSinceMs).state;
    const fields = { topic: watched.topic, ...failure };
    this.#remarks.warn("too_many", fields, "the remote of a FeatureFlag is not read", 10);
  }

  #begin(watched: Watched, { provider, text }: Noted): void {
    const { language, readSecrets, context } = this.#options;
    const { topic, namespace } = watched;
    const kind = language.kinds.get(provider.type);
    if (this.#signal === undefined || this.#signal.aborted || kind === undefined) return;
    const { clock } = context;
    const place = this.#places.placeFor(namespace);
    if (place === undefined) {
      this.#wait(watched);
      return;
    }
    if (place !== "free") {
      this.#end(place.holder);
      this.#wait(place.holder);
    }
    this.#places.add(namespace, watched);
    const stop = new AbortController();
    const hasSecrets = provider.credentials !== undefined || provider.caSecretRef !== undefined;
    let before: RemoteStateName = "starting";
    let leftOut: string | undefined;
    const fetch = new RemoteFetch({
      provider,
      kind: { run: (reading, until) => kind.run({ ...reading, owner: namespace }, until) },
      sink: remoteReports(watched.sink, clock),
      readSecrets: hasSecrets ? (...asked) => readSecrets(namespace, provider, ...asked) : undefined,
      clock,
      onMoved: (event, state) => {
        context.metrics.remoteAnswer(event.kind);
        if (fetch.leftOut !== leftOut) {
          leftOut = fetch.leftOut;
          if (leftOut !== undefined)
            this.#remarks.warn("left_out", { topic, leftOut }, "flags of a remote are left out", 10);
        }
        if (state.kind === before) return;
        before = state.kind;
        reading.sinceMs = clock.monotonicMs();
        this.#log(topic, state);
      },
    });
    const reading = { fetch, text, stop, sinceMs: clock.monotonicMs() };
    watched.reading = reading;
    const running = untilAny([this.#signal, watched.signal, stop.signal], (until) => fetch.run(until));
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  #log(topic: TopicKey, { kind, failure }: RemoteState): void {
    const { logger } = this.#options.context;
    const fields = { topic, state: kind, ...failure };
    if (failure === undefined) logger.info(fields, "the remote of a FeatureFlag answers");
    else if (kind !== "synced") logger.warn(fields, "the remote of a FeatureFlag can't be followed");
  }
}

/** Passes the reports of a FeatureFlag, and notes which remote flag provider its newest version names. */
function noting(sink: SourceSink, note: (provider: JsonObject | undefined) => void): SourceSink {
  return {
    get history() {
      return sink.history;
    },
    flags: () => sink.flags?.(),
    report: (report) => {
      // A version that is refused leaves the provider of the one before.
      sink.report(report);
      if (report.kind === "document") note(report.provider);
      else if (report.kind === "deleted") note(undefined);
    },
  };
}

/** What a remote says, as a source reports it: with versions that count up, by the clock, so that they do across processes. */
function remoteReports(sink: SourceSink, clock: Clock): RemoteSink {
  let lastVersion = 0;
  return {
    flags: () => sink.flags?.(),
    take: (document) => {
      lastVersion = Math.max(lastVersion + 1, Math.floor(clock.now()));
      const version = { noticedMs: clock.monotonicMs(), resourceVersion: String(lastVersion) };
      sink.report({ kind: "document", document, version });
    },
  };
}
