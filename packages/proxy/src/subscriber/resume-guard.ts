import type { ProxyMetrics } from "../proxy-metrics.js";
import type { SourceVersion } from "../source/flag-source.js";
import { isComparable, isNamed, isNewer, type ComparedVersion } from "./is-newer.js";

export interface ResumeGuardOptions {
  /** What the agent says it holds. */
  readonly current: ComparedVersion;
  readonly metrics: Pick<ProxyMetrics, "heldBack">;
  /** Has the source read the topic once more. `done` may be called at once. Returns how to wait no longer. */
  readonly refresh: (done: () => void) => () => void;
  /** Called when the read is done. */
  readonly onRead: () => void;
}

/**
 * Keeps an agent from going backwards because its proxy is behind: while the agent holds a newer version than the proxy serves, its
 * subscription waits until the source has read the topic again. The result of that read is served even if it is older, unless it is that
 * the FeatureFlag was deleted: what is served then is not what the read found. A deletion waits for the read as well: the agent may hold what
 * was created after it.
 */
export class ResumeGuard {
  readonly #options: ResumeGuardOptions;
  #read: "not asked" | "under way" | "done" = "not asked";
  #stopWaiting = (): void => undefined;

  constructor(options: ResumeGuardOptions) {
    this.#options = options;
  }

  /** @param isDeleted the FeatureFlag was deleted, and the version is what is served in its place */
  mustWait(served: SourceVersion, isDeleted: boolean): boolean {
    const { current: held } = this.#options;
    // A copy on disk that may be older than what the agent holds is of no use to it.
    const mayBeOlder = served.isUnconfirmed === true && !isComparable(held, served);
    if (!mayBeOlder && !isNewer(held, served)) return false;
    if (this.#read === "not asked") this.#ask();
    return this.#read === "under way" || isDeleted;
  }

  /**
   * Whether an agent that may hold what was created after a deletion has to wait for a read before it is told of the deletion.
   *
   * @param deleted the last version before the deletion, if that is known
   */
  mustAwaitRead(deleted: SourceVersion | undefined): boolean {
    const { current: held } = this.#options;
    const isOlder = deleted !== undefined && isComparable(held, deleted) && !isNewer(held, deleted);
    if (isOlder || !isNamed(held)) return false;
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
