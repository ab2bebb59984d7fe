import type { TopicKey } from "@bunting/protocol";
import { FairQueue, type Clock } from "@bunting/runtime";

/** At most so many reads at a time: each is a stream of its own, and makes the upstream read. */
const maxConcurrent = 4;
/** The shortest time between two reads of a topic, and after one that failed. */
const perTopicMs = 1_000;

interface Claim {
  readonly key: TopicKey;
  readonly peer: unknown;
  readonly done: () => void;
  isOpen: boolean;
}

/**
 * Has topics read once more by the upstream, because subscribers claim to hold newer versions. Any peer can claim that, so few reads run at
 * a time, each topic is read once a second at most, and peers take turns.
 */
export class UpstreamRefreshes {
  readonly #clock: Clock;
  readonly #read: (key: TopicKey, signal: AbortSignal) => Promise<boolean>;
  readonly #claims = new FairQueue<Claim>();
  readonly #reading = new Map<TopicKey, Promise<void>>();
  readonly #resting = new Map<TopicKey, () => void>();
  readonly #stopped = new AbortController();

  /** @param read resolves with true if the topic has received the result */
  constructor(clock: Clock, read: (key: TopicKey, signal: AbortSignal) => Promise<boolean>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Calls back after a read that begins from now on. Returns how to wait no longer. */
  ask(key: TopicKey, done: () => void, peer: unknown): () => void {
    const claim: Claim = { key, peer, done, isOpen: true };
    this.#claims.add(peer, claim);
    // Not from within the call.
    queueMicrotask(() => this.#next());
    return () => this.#close(claim);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const cancel of this.#resting.values()) cancel();
    await Promise.all(this.#reading.values());
  }

  #next(): void {
    if (this.#stopped.signal.aborted) return;
    for (const { key, peer } of this.#claims) {
      if (this.#reading.size >= maxConcurrent) return;
      if (this.#reading.has(key) || this.#resting.has(key)) continue;
      this.#claims.moveToBack(peer);
      this.#reading.set(key, this.#run(key));
      // The iteration has lost its order.
      queueMicrotask(() => this.#next());
      return;
    }
  }

  async #run(key: TopicKey): Promise<void> {
    const served = [...this.#claims].filter((claim) => claim.key === key);
    const isDone = await this.#read(key, this.#stopped.signal).catch(() => false);
    this.#reading.delete(key);
    if (this.#stopped.signal.aborted) return;
    this.#resting.set(
      key,
      this.#clock.after(perTopicMs, () => {
        this.#resting.delete(key);
        this.#next();
      }),
    );
    if (isDone)
      for (const claim of served) {
        if (!claim.isOpen) continue;
        this.#close(claim);
        claim.done();
      }
    this.#next();
  }

  #close(claim: Claim): void {
    claim.isOpen = false;
    this.#claims.delete(claim.peer, claim);
  }
}
