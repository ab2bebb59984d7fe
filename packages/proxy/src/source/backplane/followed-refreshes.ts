import type { Interest, Records } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { within, type Clock } from "@bunting/runtime";
import type { ReplicatedTopic } from "./replicated-topic.js";

export interface FollowedRefreshesOptions {
  readonly records: Pick<Records, "read">;
  readonly interest: Pick<Interest, "ask">;
  readonly clock: Clock;
}

/** Time-out of an owner's read, after which this replica reads the topic for itself. */
const ownerMs = 2_000;

interface Refresh {
  readonly waiting: Set<() => void>;
  /** Callers since the refresh under way began: they need another one. */
  readonly next: Set<() => void>;
  announced: () => void;
}

/** Asks the owner to read topics again: one request per topic at a time, however many peers know of a newer version. */
export class FollowedRefreshes {
  readonly #options: FollowedRefreshesOptions;
  readonly #refreshes = new Map<TopicKey, Refresh>();

  constructor(options: FollowedRefreshesOptions) {
    this.#options = options;
  }

  /** As `FlagSource.refresh`. */
  refresh(topic: ReplicatedTopic, done: () => void): () => void {
    const running = this.#refreshes.get(topic.key);
    if (running !== undefined) {
      running.next.add(done);
      return () => {
        running.next.delete(done);
        running.waiting.delete(done);
      };
    }
    const waiting = new Set([done]);
    this.#start(topic, waiting);
    return () => void waiting.delete(done);
  }

  /** The owner has written the topic, or confirmed it. */
  announced(topic: TopicKey): void {
    this.#refreshes.get(topic)?.announced();
  }

  /** The topic is no longer known here: its waiting callers are dropped. */
  forget(topic: TopicKey): void {
    this.#refreshes.get(topic)?.announced();
    this.#refreshes.delete(topic);
  }

  #start(topic: ReplicatedTopic, waiting: Set<() => void>): void {
    const refresh: Refresh = { waiting, next: new Set(), announced: () => undefined };
    this.#refreshes.set(topic.key, refresh);
    void this.#run(topic, refresh);
  }

  async #run(topic: ReplicatedTopic, refresh: Refresh): Promise<void> {
    if (!(await this.#byOwner(topic, refresh))) await this.#byItself(topic);
    if (this.#refreshes.get(topic.key) !== refresh) return;
    this.#refreshes.delete(topic.key);
    const { waiting, next } = refresh;
    // Later callers may know of a version that came after this read.
    if (next.size > 0) this.#start(topic, next);
    for (const done of waiting) done();
  }

  async #byOwner(topic: ReplicatedTopic, refresh: Refresh): Promise<boolean> {
    const { records, interest, clock } = this.#options;
    try {
      const announced = new Promise<void>((resolve) => (refresh.announced = resolve));
      await interest.ask(topic.key, "refresh");
      if (!(await within(ownerMs, announced, clock))) return false;
      const stored = await records.read(topic.key);
      if (stored !== undefined) topic.following.record(stored);
      return true;
    } catch {
      // Redis is away, or its record can't be used.
      return false;
    }
  }

  #byItself(topic: ReplicatedTopic): Promise<void> {
    return new Promise((resolve) => void topic.refresh(resolve, topic.peerOfOthers));
  }
}
