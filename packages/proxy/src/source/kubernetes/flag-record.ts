import { ObjectTracker, type Epoch, type KubeObject, type WatchRequest } from "@bunting/kube";
import {
  documentOfFeatureFlag,
  parseReaders,
  readersOfMetadata,
  remoteProviderOf,
  withEarlierFlags,
  type JsonObject,
  type Readers,
  type TopicKey,
  type WrittenDocument,
} from "@bunting/protocol";
import { messageOf, type Clock } from "@bunting/runtime";
import { isCrowdedOut, ProxyError } from "../../proxy-error.js";
import type { SourceSink, SourceVersion } from "../flag-source.js";
import type { KubernetesLog } from "./kubernetes-log.js";
import { hasRollout, stagedFlagsReader, trialOf, type StagedFlags } from "./staged-flags.js";
import { clusterKey, namespaceKey, partsOfKey, type WatchKey } from "./watch-key.js";

export interface FlagRecordOptions {
  readonly topic: TopicKey;
  readonly sink: SourceSink;
  /** The peer that subscribed first, for fairness among peers. */
  readonly peer?: unknown;
  readonly clock: Clock;
  readonly log: KubernetesLog;
  /** Called when the FeatureFlag began or ceased to exist, or may have: the plan of watches depends on it. */
  readonly onChange: (record: FlagRecord) => void;
}

const noReaders: Readers = new Set();

/** A version of a FeatureFlag that was reported to the sink, or refused. */
interface ReportedVersion {
  readonly resourceVersion: string;
  readonly refused: "invalid" | "crowdedOut" | undefined;
}

/**
 * The state of one subscribed FeatureFlag. Several watches may report it (its own, that of its namespace, that of the
 * cluster). The order of resourceVersions decides what is new, so the watches need not be timed against each other.
 * `ObjectTracker` keeps that order; this class turns its verdicts into reports to the sink.
 */
export class FlagRecord implements WatchRequest {
  readonly topic: TopicKey;
  readonly namespace: string;
  readonly peer: unknown;
  /** The watches that could report it, the widest first. */
  readonly watchKeys: readonly WatchKey[];
  readonly #options: FlagRecordOptions;
  readonly #tracker: ObjectTracker;
  #isForbidden = false;
  /** No watch has worked since the last report. A refused document makes the sink stale, but not this record. */
  #isStale = false;
  #isOfferedAgain = false;
  /** The version that was reported last; undefined once its deletion was reported. */
  #reported: ReportedVersion | undefined;
  /** Undefined unless the FeatureFlag has `spec.rollout`. */
  #stages: ReturnType<typeof stagedFlagsReader> | undefined;
  #lastReadMs: number | undefined;
  readonly #awaiting = new Set<{ readonly sinceMs: number; readonly done: () => void }>();

  constructor(options: FlagRecordOptions) {
    this.topic = options.topic;
    this.peer = options.peer;
    this.namespace = partsOfKey(options.topic).namespace;
    this.watchKeys = [clusterKey, namespaceKey(this.namespace), this.topic];
    this.#options = options;
    this.#tracker = new ObjectTracker(options.clock);
  }

  /** A FeatureFlag that RBAC has never let us see counts as absent: a peer may have guessed its name. */
  get existence(): "unknown" | "exists" | "absent" {
    const { existence } = this.#tracker;
    return existence === "unknown" && this.#isForbidden ? "absent" : existence;
  }

  get hasBeenSynced(): boolean {
    return this.#tracker.existence === "exists";
  }

  /** When the last consistent read that reported its result began, in ms of the monotonic clock. */
  get lastReadMs(): number | undefined {
    return this.#lastReadMs;
  }

  /** RBAC refuses the read of this FeatureFlag. */
  forbidden(): void {
    if (this.#isForbidden) return;
    this.#isForbidden = true;
    if (this.#tracker.existence === "unknown") this.#options.onChange(this);
  }

  /** The newest version that was reported in this epoch, deletions included. */
  resourceVersionIn(epoch: Epoch): string | undefined {
    return this.#tracker.resourceVersionIn(epoch);
  }

  /** When the FeatureFlag began to seem gone, on the monotonic clock; undefined if it does not. A later read has to confirm the deletion. */
  get goneSinceMs(): number | undefined {
    return this.#tracker.goneSinceMs;
  }

  /** A stream reported this version. */
  offer(object: KubeObject, resourceVersion: string, epoch: Epoch, isLive: boolean): void {
    const before = this.#tracker.existence;
    const verdict = this.#tracker.offer(object, resourceVersion, epoch, isLive);
    // A known version ends staleness: nothing has changed during the outage.
    const isAskedFor = this.#isStale || (this.#isOfferedAgain && this.#reported?.refused !== undefined);
    if (verdict === "older" || (verdict === "known" && !isAskedFor)) return;
    if (verdict !== "known" && isLive) this.#options.log.written(writtenAtMs(object));
    this.#report(object, resourceVersion, verdict === "sameSpec");
    if (before !== "exists") this.#options.onChange(this);
  }

  /** A stream reported a deletion. */
  gone(resourceVersion: string, epoch: Epoch): void {
    if (this.#tracker.gone(resourceVersion, epoch)) this.#options.onChange(this);
  }

  /** A consistent read, begun at `readStartedMs`, did not find the FeatureFlag. */
  absent(resourceVersion: string, epoch: Epoch, readStartedMs: number): void {
    const { sink, onChange } = this.#options;
    const { existence: before, goneSinceMs } = this.#tracker;
    const verdict = this.#tracker.absent(resourceVersion, epoch, readStartedMs);
    if (verdict === "older") return;
    if (verdict === "unconfirmed") {
      if (goneSinceMs === undefined) onChange(this);
      return;
    }
    if (verdict === "deleted") {
      this.#reported = undefined;
      sink.report({ kind: "deleted" });
    } else if (before === "unknown" || this.#isStale) sink.report({ kind: "missing" });
    this.#isStale = false;
    if (before !== "absent") onChange(this);
  }

  /** True while a refresh waits for a read. */
  get isAwaited(): boolean {
    return this.#awaiting.size > 0;
  }

  /** The next read is to report a refused version once more. */
  offerAgain(): void {
    this.#isOfferedAgain = true;
  }

  /** Calls back once a consistent read that begins from now on has reported its result. Returns a function that cancels. */
  awaitRead(done: () => void): () => void {
    const waiting = { sinceMs: this.#options.clock.monotonicMs(), done };
    this.#awaiting.add(waiting);
    return () => void this.#awaiting.delete(waiting);
  }

  /** A consistent read, begun at `readStartedMs`, has ended. While the FeatureFlag seems gone, that result still has to be confirmed. */
  wasRead(readStartedMs: number): void {
    this.#lastReadMs = Math.max(readStartedMs, this.#lastReadMs ?? readStartedMs);
    this.#isForbidden = false;
    this.#isOfferedAgain = false;
    if (!this.isAwaited || this.goneSinceMs !== undefined) return;
    const answered = [...this.#awaiting].filter(({ sinceMs }) => sinceMs <= readStartedMs);
    for (const waiting of answered) this.#awaiting.delete(waiting);
    for (const { done } of answered) done();
  }

  /** No watch of the FeatureFlag works for now. */
  stale(reason: Error): void {
    if (this.#isStale) return;
    this.#isStale = true;
    this.#options.sink.report({ kind: "stale", reason });
  }

  #report(object: KubeObject, resourceVersion: string, isSameSpec: boolean): void {
    const { sink, clock } = this.#options;
    const { uid, generation } = object.metadata;
    const version: SourceVersion = {
      noticedMs: clock.monotonicMs(),
      resourceVersion,
      readers: parseReaders(readersOfMetadata(object.metadata)).readers ?? noReaders,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
    };
    this.#stages = hasRollout(object) ? (this.#stages ?? stagedFlagsReader()) : undefined;
    // With a rollout, a new status may change the served document, although the spec is the same.
    const refused = this.#reported?.refused;
    if (
      isSameSpec &&
      this.#reported !== undefined &&
      refused !== "crowdedOut" &&
      this.#stages === undefined
    ) {
      this.#reported = { resourceVersion, refused };
      if (refused === undefined) sink.report({ kind: "sameDocument", version });
      // During an outage, the sink was given the outage as the reason.
      else if (this.#isStale) this.#reportOrRefuse(object, version);
    } else this.#reported = { resourceVersion, refused: this.#reportOrRefuse(object, version) };
    // What nobody takes is not kept beside what is served: it is read again when it is offered again.
    if (this.#reported.refused === "crowdedOut") this.#stages = undefined;
    this.#isStale = false;
  }

  /** Reports the document. If it can't be served, reports and returns why: an error makes only this FeatureFlag stale. */
  #reportOrRefuse(object: KubeObject, version: SourceVersion): ReportedVersion["refused"] {
    const { sink, log, topic } = this.#options;
    const { resourceVersion = "" } = version;
    // A trial has flags of the FeatureFlag alone, so a FeatureFlag with a remote provider is served at once.
    const provider = remoteProviderOf(object);
    const staged = provider === undefined ? this.#stages?.(object) : undefined;
    if (staged === "unpaced") log.unpaced(topic, resourceVersion);
    try {
      if (staged === undefined || staged === "unpaced") this.#reportAtOnce(object, version, provider);
      else this.#reportStaged(object, version, staged);
      return undefined;
    } catch (error) {
      // A watch offers a refused version again after each outage, but it is logged once.
      const isNew =
        this.#reported?.refused === undefined || this.#reported.resourceVersion !== resourceVersion;
      if (isNew) log.refused(topic, resourceVersion, error);
      const message = `the FeatureFlag is refused: ${messageOf(error)}`;
      sink.report({ kind: "stale", reason: new ProxyError("DOCUMENT_INVALID", message, { cause: error }) });
      return isCrowdedOut(error) ? "crowdedOut" : "invalid";
    }
  }

  #reportAtOnce(object: KubeObject, version: SourceVersion, provider: JsonObject | undefined): void {
    const { sink } = this.#options;
    const { document, refused } = this.#read(object, version);
    const earlier = refused.length === 0 ? undefined : sink.flags?.();
    const served = withEarlierFlags(document, refused, earlier);
    const report = { kind: "document", document: served, version } as const;
    sink.report(provider === undefined ? report : { ...report, provider });
  }

  /** Reports the whole document, which all agents are to have. The newer one is its trial, unless a flag of that is refused. */
  #reportStaged(object: KubeObject, version: SourceVersion, staged: StagedFlags): void {
    const { sink } = this.#options;
    const wholeVersion = { ...version, generation: staged.generation };
    let read: WrittenDocument;
    try {
      read = this.#read(object, version);
    } catch (error) {
      sink.report({ kind: "document", document: staged.whole, version: wholeVersion });
      throw error;
    }
    const { document, refused } = read;
    const trial = refused.length > 0 ? undefined : trialOf(document, staged, version.generation);
    const isWhole = trial === undefined && refused.length === 0;
    const served = isWhole ? version : { ...wholeVersion, ...(trial === undefined ? {} : { trial }) };
    sink.report({ kind: "document", document: staged.whole, version: served });
  }

  /** @throws ProtocolError if it can't be served at all */
  #read(object: KubeObject, { resourceVersion = "" }: SourceVersion): WrittenDocument {
    const { log, topic } = this.#options;
    const read = documentOfFeatureFlag(object);
    log.warnings(topic, resourceVersion, read.warnings);
    log.refusedFlags(topic, resourceVersion, read.refused);
    return read;
  }
}

/** When the edit was made, in ms since the epoch, if its author set the annotation `bunting.dev/written-at`. */
function writtenAtMs(object: KubeObject): number | undefined {
  const text = object.metadata.annotations?.["bunting.dev/written-at"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
