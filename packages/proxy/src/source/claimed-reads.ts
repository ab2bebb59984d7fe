import { FairQueue, SetMultimap, type Clock } from "@bunting/runtime";

export interface ClaimedReadsOptions<Key> {
  readonly clock: Clock;
  /** Reads the key until it is aborted. False if it could not. */
  readonly read: (key: Key, abort: AbortController) => Promise<boolean>;
  /** How long the key has to rest because it was read otherwise, in ms; 0 or less: not at all. */
  readonly restMs?: (key: Key) => number;
  /** The shortest time between two reads of any keys, in ms. Default: none. */
  readonly perReadMs?: number;
  /** How long a key rests after a read that failed, in ms. Default: as after each other. */
  readonly afterFailureMs?: number;
}

interface Claim<Key> {
  readonly key: Key;
  readonly peer: unknown;
  readonly done: (() => void) | undefined;
}

/** Limit of reads at a time: each is a request of its own. */
const maxConcurrent = 4;
/** The shortest time between two reads of a key. */
export const perKeyMs = 1_000;

/**
 * Reads what peers claim to know newer versions of. Any peer can claim that, so few reads run at a time, each key is read once a second at
 * most, and peers take turns. A key is read again and again while there is a claim to it.
 */
export class ClaimedReads<Key> {
  readonly #options: ClaimedReadsOptions<Key>;
  readonly #claims = new FairQueue<Claim<Key>>();
  readonly #byKey = new SetMultimap<Key, Claim<Key>>();
  readonly #reading = new Map<Key, AbortController>();
  readonly #running = new Set<Promise<void>>();
  /** Keys that are not read for a while, each with a function that cancels its timer. */
  readonly #resting = new Map<Key, () => void>();
  #cancelPause: (() => void) | undefined;
  #hasStopped = false;

  constructor(options: ClaimedReadsOptions<Key>) {
    this.#options = options;
  }

  /**
   * Has the key read by a read that begins from now on, but not within this call. Returns a function that ends the claim.
   *
   * @param done called after a read that did not fail, which ends the claim; without it, the claim stands until it is ended
   */
  claim(key: Key, peer: unknown, done?: () => void): () => void {
    const claim = { key, peer, done };
    this.#claims.add(peer, claim);
    this.#byKey.add(key, claim);
    // The end of its read or of its rest looks for the next one, in place of each of thousands of claims.
    if (!this.#isBusy(key)) queueMicrotask(() => this.#next());
    return () => void this.#end(claim);
  }

  drop(key: Key): void {
    for (const claim of this.#byKey.get(key)) this.#end(claim);
    this.#reading.get(key)?.abort();
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    this.#cancelPause?.();
    for (const cancel of this.#resting.values()) cancel();
    for (const abort of this.#reading.values()) abort.abort();
    await Promise.all(this.#running);
  }

  #isBusy(key: Key): boolean {
    return this.#reading.has(key) || this.#resting.has(key);
  }

  /** False if the claim has ended already. */
  #end(claim: Claim<Key>): boolean {
    this.#byKey.delete(claim.key, claim);
    return this.#claims.delete(claim.peer, claim);
  }

  /** Begins the first read whose turn it is, and has the next one begin. */
  #next(): void {
    const { clock, restMs, perReadMs = 0 } = this.#options;
    if (this.#hasStopped || this.#cancelPause !== undefined) return;
    for (const { key, peer } of this.#claims) {
      if (this.#reading.size >= maxConcurrent) return;
      if (this.#isBusy(key)) continue;
      const leftMs = restMs?.(key) ?? 0;
      if (leftMs > 0) {
        this.#rest(key, leftMs);
        continue;
      }
      this.#claims.moveToBack(peer);
      const running = this.#read(key);
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
      // Not in this iteration, which has lost its order.
      if (perReadMs === 0) queueMicrotask(() => this.#next());
      else
        this.#cancelPause = clock.after(perReadMs, () => {
          this.#cancelPause = undefined;
          this.#next();
        });
      return;
    }
  }

  async #read(key: Key): Promise<void> {
    const { read, afterFailureMs = perKeyMs } = this.#options;
    const abort = new AbortController();
    this.#reading.set(key, abort);
    const served = [...this.#byKey.get(key)];
    const isRead = await read(key, abort).catch(() => false);
    this.#reading.delete(key);
    if (this.#hasStopped) return;
    this.#rest(key, isRead ? perKeyMs : afterFailureMs);
    for (const claim of served) if (isRead && claim.done !== undefined && this.#end(claim)) claim.done();
    this.#next();
  }

  #rest(key: Key, ms: number): void {
    this.#resting.set(
      key,
      this.#options.clock.after(ms, () => {
        this.#resting.delete(key);
        this.#next();
      }),
    );
  }
}
