import type { ProxyMetrics } from "../proxy-metrics.js";
import type { SourceVersion } from "../source/flag-source.js";
import { documentOf, type TopicView } from "../topic/topic-view.js";

export interface ResumeGuardOptions {
  /** The version that the agent claims to have. */
  readonly current: ComparedVersion;
  readonly metrics: Pick<ProxyMetrics, "heldBack">;
  /** Makes the source read the topic again. `done` may be called at once. Returns a function that cancels. */
  readonly refresh: (done: () => void) => () => void;
  /** Called when the read is done. */
  readonly onRead: () => void;
}

/** What of its topic an agent must not be sent yet. */
export type HeldBack = "nothing" | "document" | "all";

/**
 * Keeps an agent from going backwards because its proxy is behind.
 *
 * - The agent has a newer version than the proxy serves: its subscription waits until the source has read the topic again.
 * - The read's result is served even if it is older than the agent's version, because the read was consistent.
 * - The read found a deletion, or a document that can't be served: the last document, served in its place, is not the read's result and is not sent.
 * - A deletion also waits for a read, because the agent may have a FeatureFlag that was created after it.
 */
export class ResumeGuard {
  readonly #options: ResumeGuardOptions;
  #read: "not asked" | "under way" | "done" = "not asked";
  #stopWaiting = (): void => undefined;

  constructor(options: ResumeGuardOptions) {
    this.#options = options;
  }

  /** @param isStale the topic has a newer state that it does not serve, or can't know of one */
  heldBack(view: TopicView, isStale: boolean): HeldBack {
    const isDeleted = view.kind === "deleted";
    if (isDeleted && this.mustAwaitRead(view.snapshot?.version)) return "all";
    const document = documentOf(view);
    return document !== undefined && this.mustWait(document.version, isDeleted || isStale)
      ? "document"
      : "nothing";
  }

  /** @param isSubstitute the FeatureFlag was deleted, or can't be served, and the version is what is served in its place */
  mustWait(served: SourceVersion, isSubstitute: boolean): boolean {
    const { current } = this.#options;
    // A copy on disk may be older than the agent's version.
    const mayBeOlder = served.isUnconfirmed === true && !isComparable(current, served);
    if (!mayBeOlder && !isNewer(current, served)) return false;
    if (this.#read === "not asked") this.#ask();
    return this.#read === "under way" || isSubstitute;
  }

  /**
   * True while the agent must not learn of a deletion yet, because its version may have been created after it.
   *
   * @param deleted the last version before the deletion, if known
   */
  mustAwaitRead(deleted: SourceVersion | undefined): boolean {
    const { current } = this.#options;
    const isOlder = deleted !== undefined && isComparable(current, deleted) && !isNewer(current, deleted);
    if (isOlder || !isNamed(current)) return false;
    if (this.#read === "not asked") this.#ask();
    return this.#read === "under way";
  }

  /** May be called again. */
  close(): void {
    if (this.#read === "under way") this.#options.metrics.heldBack(-1);
    this.#read = "done";
    this.#stopWaiting();
  }

  #ask(): void {
    const { metrics, refresh, onRead } = this.#options;
    this.#read = "under way";
    metrics.heldBack(1);
    let isAsking = true;
    this.#stopWaiting = refresh(() => {
      this.close();
      // Within `refresh` the caller of `mustWait` sees the result itself.
      if (!isAsking) onRead();
    });
    isAsking = false;
  }
}

/** The fields of a version that order it. */
type ComparedVersion = Pick<SourceVersion, "uid" | "generation" | "resourceVersion">;

/**
 * True if one version is known to be newer than another: by its resourceVersion, or for the same object by its generation. Kubernetes
 * promises that resourceVersions of one resource type are integers that grow, also from an object to one created in its place; others can't
 * be compared. For versions from two clusters the result is meaningless; a wrong one costs one more read.
 */
function isNewer(one: ComparedVersion, than: ComparedVersion): boolean {
  if (!isKnown(one.uid) || !isKnown(than.uid)) return false;
  const [ours, theirs] = [asNumber(one.resourceVersion), asNumber(than.resourceVersion)];
  if (ours !== undefined && theirs !== undefined) return ours > theirs;
  return one.uid === than.uid && (one.generation ?? 0) > (than.generation ?? Number.POSITIVE_INFINITY);
}

function isComparable(one: ComparedVersion, other: ComparedVersion): boolean {
  if (!isKnown(one.uid) || !isKnown(other.uid)) return false;
  const areNumbers = [one, other].every((version) => asNumber(version.resourceVersion) !== undefined);
  return areNumbers || one.uid === other.uid;
}

/** True if it is the version of an object, which others can be compared with. */
function isNamed({ uid }: ComparedVersion): boolean {
  return isKnown(uid);
}

function isKnown(uid: string | undefined): boolean {
  return uid !== undefined && uid !== "";
}

/** resourceVersions have 64 bits, more than a number can hold. */
function asNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
