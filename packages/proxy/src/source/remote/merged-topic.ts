import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { isLargeMerge, type MergedRemote, type RemoteFailure, type Side, type Sides } from "@bunting/remote";
import {
  atOnce,
  type FlagDocument,
  type JsonObject,
  type PastVersion,
  type TopicKey,
} from "@bunting/protocol";
import { isAborted, runInSlices } from "@bunting/runtime";
import { isCrowdedOut } from "../../proxy-error.js";
import type { DocumentReport, SourceReport, SourceSink } from "../flag-source.js";
import { MergeRetry } from "./merge-retry.js";
import type { MergedTopicOptions } from "./merged-topic-options.js";
import { remoteKeyOf } from "./remote-key.js";

/**
 * Time that a remote, or what is kept of it, has to say something before the FeatureFlag's own flags are served without it. A copy on disk may take half
 * of it, where nothing else answers: subscribers are not to see flags of the remote go and come back because a proxy starts.
 */
export const firstAnswerMs = 2_000;

/** A provider that is followed. */
interface Followed {
  readonly text: string;
  readonly provider: RemoteFlagProvider;
  readonly key: TopicKey;
  /** Ends the watch of what the remote says. */
  readonly watch: AbortController;
}

/** A merge that takes more than one turn of the event loop. */
interface UnderWay {
  readonly ending: AbortController;
  /** Since when there is something newer than what it merges, in ms of the monotonic clock. */
  newerMs?: number;
}

/**
 * A FeatureFlag and its remote, on their way to a topic. Without a provider, reports pass as they are. With one, each edit of either side makes
 * a document of both; a remote that says nothing, or nothing any more, takes nothing away.
 */
export class MergedTopic implements SourceSink {
  readonly #options: MergedTopicOptions;
  /** The FeatureFlag's own; undefined without a provider. */
  #local: DocumentReport | undefined;
  #staleReason: Error | undefined;
  #followed: Followed | undefined;
  #failure: RemoteFailure | undefined;
  #remote: FlagDocument | undefined;
  /** What is served of both, but for the document, which is the sink's; undefined while the FeatureFlag's own flags are served alone. */
  #merged: (Omit<MergedRemote, "document"> & { readonly remote: FlagDocument }) | undefined;
  #merging: UnderWay | undefined;
  readonly #retry: MergeRetry;
  /** Undefined once the remote has said something, or its time for that is over. */
  #cancelWait: (() => void) | undefined;
  /** A document was reported since the topic began, or was deleted. */
  #isTold = false;

  constructor(options: MergedTopicOptions) {
    this.#options = options;
    this.#retry = new MergeRetry(options.clock, (passedOver) => {
      this.#remote = passedOver ?? this.#remote;
      this.#retell(options.clock.monotonicMs());
    });
  }

  /** Why the provider that the FeatureFlag names can't be used at all. */
  get failure(): RemoteFailure | undefined {
    return this.#failure;
  }

  /** True if the FeatureFlag names a provider. */
  get hasProvider(): boolean {
    return this.#followed !== undefined || this.#failure !== undefined;
  }

  /** The side that each flag is of; undefined without a provider, and while only the FeatureFlag's own are served. */
  get provenance(): ReadonlyMap<string, Side> | undefined {
    return this.#merged?.provenance;
  }

  /** What the merge has made of the sides beyond taking flags, as sentences. */
  get remarks(): readonly string[] {
    return this.#merged?.remarks ?? [];
  }

  get history(): readonly PastVersion[] | undefined {
    return this.#options.sink.history;
  }

  /** Those of the FeatureFlag: what it keeps of an earlier version must not be what a remote says. */
  flags(): JsonObject | undefined {
    return this.#local === undefined ? this.#options.sink.flags?.() : this.#local.document.flags;
  }

  close(): void {
    this.#unfollow();
  }

  report(report: SourceReport): void {
    switch (report.kind) {
      case "document":
        this.#localChanged(report);
        return;
      case "sameDocument":
        if (this.#local !== undefined) {
          this.#local = { ...this.#local, version: report.version };
          this.#staleReason = undefined;
          if (this.#isWaiting || this.#merging !== undefined) return;
        }
        this.#options.sink.report(report);
        return;
      case "missing":
      case "deleted":
        this.#unfollow();
        this.#isTold = false;
        this.#options.sink.report(report);
        return;
      case "stale":
        this.#staleReason = report.reason;
        if (!this.#isWaiting) this.#options.sink.report(report);
    }
  }

  /** The topic has nothing yet, and what the remote says may come with it. */
  get #isWaiting(): boolean {
    return this.#cancelWait !== undefined && !this.#isTold;
  }

  #localChanged(report: DocumentReport): void {
    if (report.provider === undefined) {
      this.#options.sink.report(report);
      if (this.#local !== undefined) this.#unfollow();
      this.#isTold = true;
      return;
    }
    const [before, remote] = [this.#local, this.#remote];
    this.#local = report;
    this.#staleReason = undefined;
    this.#follow(report.provider);
    try {
      this.#tell(report.version.noticedMs);
    } catch (error) {
      // The version before is still served, with what its remote says.
      this.#local = before;
      if (before?.provider !== undefined) this.#follow(before.provider);
      this.#remote = remote;
      throw error;
    }
  }

  #follow(written: JsonObject): void {
    const text = JSON.stringify(written);
    if (this.#followed?.text === text) return;
    const { merges, topic, source, peer, clock } = this.#options;
    let provider: RemoteFlagProvider;
    try {
      provider = merges.language.parse(written);
    } catch (error) {
      this.#leaveRemote();
      this.#failure = { reason: "ProviderInvalid", message: (error as Error).message };
      return;
    }
    this.#failure = undefined;
    const key = remoteKeyOf(topic, provider);
    const earlier = this.#followed;
    if (earlier?.key === key) {
      this.#followed = { ...earlier, text, provider };
      return;
    }
    earlier?.watch.abort();
    this.#cancelWait?.();
    this.#retry.forgetRemote();
    const watch = new AbortController();
    this.#followed = { text, provider, key, watch };
    // The document of another address is served until this one says something.
    const before = this.#remote;
    this.#cancelWait = clock.after(firstAnswerMs, () => {
      this.#cancelWait = undefined;
      if (this.#remote === before) this.#remote = undefined;
      this.#retell(clock.monotonicMs());
    });
    source.watch(key, this.#remoteSink(watch.signal), watch.signal, peer);
  }

  #remoteSink(signal: AbortSignal): SourceSink {
    return {
      flags: () => (this.#cancelWait === undefined ? this.#remote?.flags : undefined),
      report: (report) => {
        // How current a remote is, is told beside: the topic is not stale because of it.
        if (signal.aborted || report.kind !== "document") return;
        const isMerged = report.document === this.#remote && !this.#isWaiting;
        this.#cancelWait?.();
        this.#cancelWait = undefined;
        if (isMerged) return;
        this.#retry.forgetRemote();
        const before = this.#remote;
        this.#remote = report.document;
        try {
          this.#tell(report.version.noticedMs);
        } catch (error) {
          this.#remote = before;
          throw error;
        }
      },
    };
  }

  /** What was accepted before is told again, in another company, and nobody waits for what comes of it. */
  #retell(noticedMs: number): void {
    try {
      this.#tell(noticedMs);
    } catch (error) {
      this.#options.sink.report({ kind: "stale", reason: error as Error });
    }
  }

  #tell(noticedMs: number): void {
    const local = this.#local;
    if (local === undefined || this.#isWaiting) return;
    const strategy = this.#followed?.provider.strategy;
    if (this.#remote === undefined || strategy === undefined) {
      this.#endMerging();
      this.#report(local, undefined, noticedMs);
      return;
    }
    const sides = { local: local.document, remote: this.#remote, strategy };
    if (this.#merging !== undefined) this.#merging.newerMs ??= noticedMs;
    else if (isLargeMerge(sides)) void this.#mergeInSlices(local, sides, noticedMs);
    else {
      const merged = atOnce(this.#options.merges.language.merging(sides));
      this.#report(local, { ...merged, remote: sides.remote }, noticedMs);
    }
  }

  /** What either side says meanwhile is merged after it. Never rejects. */
  async #mergeInSlices(local: DocumentReport, sides: Sides, noticedMs: number): Promise<void> {
    const { topic, sink, merges } = this.#options;
    const { language, prepare, turns } = merges;
    const merging: UnderWay = { ending: new AbortController() };
    const { signal } = merging.ending;
    this.#merging = merging;
    try {
      const merged = await turns.run(topic.slice(0, topic.indexOf("/")), async () => {
        if (isAborted(signal)) return undefined;
        const done = await runInSlices(language.merging(sides));
        if (!isAborted(signal)) await prepare?.(done.document);
        return done;
      });
      if (isAborted(signal) || merged === undefined) return;
      const newest = this.#local;
      const version = newest?.document === sides.local ? newest.version : local.version;
      this.#report({ ...local, version }, { ...merged, remote: sides.remote }, noticedMs);
    } catch (error) {
      if (isAborted(signal)) return;
      sink.report({ kind: "stale", reason: error as Error });
      // What a remote says takes no edit of the FeatureFlag away: that is merged with what the remote said before.
      const served = this.#merged?.remote;
      const isPassedOver = sides.remote !== served && this.#remote === sides.remote;
      if (isCrowdedOut(error)) this.#retry.later(isPassedOver ? sides.remote : undefined);
      if (isPassedOver) {
        this.#remote = served;
        merging.newerMs ??= noticedMs;
      }
    }
    if (isAborted(signal)) return;
    const { newerMs } = merging;
    this.#merging = undefined;
    if (newerMs !== undefined) this.#retell(newerMs);
  }

  #report(
    local: DocumentReport,
    of: (MergedRemote & { readonly remote: FlagDocument }) | undefined,
    noticedMs: number,
  ): void {
    const { sink } = this.#options;
    const document = of?.document ?? local.document;
    sink.report({ ...local, document, version: { ...local.version, noticedMs } });
    const before = this.remarks.join();
    this.#merged = of && { provenance: of.provenance, remarks: of.remarks, remote: of.remote };
    if (this.remarks.join() !== before) this.#options.merges.onRemarks?.(this.remarks);
    this.#isTold = true;
    if (this.#staleReason !== undefined) sink.report({ kind: "stale", reason: this.#staleReason });
  }

  #endMerging(): void {
    this.#merging?.ending.abort();
    this.#merging = undefined;
  }

  #leaveRemote(): void {
    this.#endMerging();
    this.#retry.stop();
    this.#followed?.watch.abort();
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#followed = undefined;
    this.#failure = undefined;
    this.#remote = undefined;
    this.#merged = undefined;
  }

  #unfollow(): void {
    this.#leaveRemote();
    this.#local = undefined;
  }
}
