import type { Interest, Records } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { unlessAborted, within, type Clock } from "@bunting/runtime";
import { ClaimedReads } from "../claimed-reads.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

export interface FollowedRefreshesOptions {
  readonly records: Pick<Records, "read">;
  readonly interest: Pick<Interest, "ask">;
  readonly clock: Clock;
}

/** Time-out of an owner's read, after which this replica reads the topic for itself. */
const ownerMs = 2_000;
/** Time-out of this replica's own read: few topics are read at a time, and one that can't be read must not keep others from being read. */
const ownMs = 10_000;

/** Has the owner read topics again that peers know newer versions of, unless they are watched here by now: then there may be no owner that answers. */
export class FollowedRefreshes extends ClaimedReads<ReplicatedTopic> {
  readonly #options: FollowedRefreshesOptions;
  /** Topics that the owner was asked to read, with what ends the wait for it. */
  readonly #asked = new Map<TopicKey, () => void>();

  constructor(options: FollowedRefreshesOptions) {
    super({
      clock: options.clock,
      read: async (topic, { signal }) =>
        (!topic.isWatched && (await this.#byOwner(topic, signal))) || this.#byItself(topic, signal),
    });
    this.#options = options;
  }

  /** The owner has written the topic, or confirmed it. */
  announced(topic: TopicKey): void {
    this.#asked.get(topic)?.();
  }

  async #byOwner(topic: ReplicatedTopic, signal: AbortSignal): Promise<boolean> {
    const { records, interest, clock } = this.#options;
    try {
      const announced = new Promise<void>((resolve) => this.#asked.set(topic.key, resolve));
      await interest.ask(topic.key, "refresh");
      if (!(await within(ownerMs, unlessAborted(announced, signal), clock))) return false;
      const stored = await records.read(topic.key);
      if (stored !== undefined) topic.following.record(stored);
      return true;
    } catch {
      // Redis is away, or its record can't be used.
      return false;
    } finally {
      this.#asked.delete(topic.key);
    }
  }

  async #byItself(topic: ReplicatedTopic, signal: AbortSignal): Promise<boolean> {
    let cancel = (): void => undefined;
    const read = new Promise<void>((resolve) => (cancel = topic.refresh(resolve, topic.peerOfOthers)));
    try {
      return await within(ownMs, unlessAborted(read, signal), this.#options.clock);
    } finally {
      // It ends the watch that was opened for it, if nobody else needs that.
      cancel();
    }
  }
}
