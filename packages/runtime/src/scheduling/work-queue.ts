import { aborted } from "../aborted.js";
import type { Clock } from "../clock.js";
import type { Runnable } from "../runnable.js";
import { Backoff, type BackoffOptions } from "./backoff.js";
import { FairQueue } from "./fair-queue.js";

/** Result of the work for a key, if the key must be worked on again without being added. */
export interface WorkResult {
  /** After how long the key is worked on again at the latest, in ms. */
  readonly requeueAfterMs?: number;
  /** True if nothing was tried, since it is too early or somebody else has to act first: that says nothing of failures before, whose backoff goes on. */
  readonly isPutOff?: boolean;
}

/** Does all the work that there is for a key by now; undefined: it comes back only if it is added again. Rejects if it could not; it is called again after a while. */
export type Work<Key> = (key: Key, signal: AbortSignal) => Promise<WorkResult | undefined>;

/** What a work queue measures, with the meanings of client-go's `workqueue_*` metrics. */
export interface WorkQueueMetrics {
  /** Keys that wait for a worker. */
  depth(keys: number): void;
  /** A key was added that did not wait yet. */
  added(): void;
  /** Time that a key waited for a worker, in ms. */
  waited(ms: number): void;
  /** Time that the work for a key took, in ms. */
  worked(ms: number): void;
  /** Work failed, and the key waits to be worked on again. */
  retried(): void;
}

export interface WorkQueueOptions<Key> {
  /** For logs and metrics: `featureflagsource`. */
  readonly name: string;
  readonly work: Work<Key>;
  /** Keys that are worked on at a time. Default 1. A key is never worked on twice at a time. */
  readonly concurrency?: number;
  /** For whom a key is worked on: these take turns, so that the keys of one do not delay those of others. Absent: keys are worked on in their order. */
  readonly turnOf?: (key: Key) => string;
  /** How long a key waits after its work has failed, growing from failure to failure. Default 5 ms to 1,000 s, as client-go. */
  readonly backoff?: BackoffOptions;
  readonly clock: Clock;
  /** Called for each failure, with the time until the next attempt. To be left out only if the work reports what fails itself. */
  readonly onError?: (key: Key, error: unknown, retryMs: number) => void;
  readonly metrics?: WorkQueueMetrics;
}

/**
 * Where a key is. Transitions:
 *
 * | from \ on | add | after(ms) | its time has come | a worker is free | work ends |
 * | --- | --- | --- | --- | --- | --- |
 * | (unknown) | queued | waiting | | | |
 * | waiting | queued | waiting, at the earlier time | queued | | |
 * | queued | queued | queued | | running | |
 * | running | dirty | running, then waiting | | | (unknown), or waiting |
 * | dirty | dirty | dirty | | | queued |
 */
type KeyState =
  | { readonly kind: "waiting"; readonly dueMs: number; readonly turn: unknown; readonly cancel: () => void }
  | { readonly kind: "queued"; readonly sinceMs: number; readonly turn: unknown }
  | { readonly kind: "running"; readonly turn: unknown; dirty: Dirty | undefined; requeueAfterMs: number };

type Running = KeyState & { kind: "running" };

/** The key was added while it was worked on, and will have this turn. */
interface Dirty {
  readonly turn: unknown;
}

/**
 * A queue of keys whose work is to be done, as client-go's work queue: adding a key that waits changes nothing, a key that is added while it is
 * worked on is worked on once more afterwards, and a key whose work has failed comes back after a backoff of its own. So whatever happens to a
 * key, its work is done at least once after the last `add`, and bursts cost one run. Work must be idempotent.
 */
export class WorkQueue<Key> implements Runnable {
  readonly name: string;
  readonly #options: WorkQueueOptions<Key>;
  readonly #states = new Map<Key, KeyState>();
  /** Keys in the state queued, by turns. */
  #queue = new FairQueue<Key>();
  /** Keys whose last work failed. */
  readonly #backoffs = new Map<Key, Backoff>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;
  #isStartDue = false;

  constructor(options: WorkQueueOptions<Key>) {
    this.name = options.name;
    this.#options = options;
  }

  /** Keys that wait for a worker. */
  get depth(): number {
    return this.#queue.size;
  }

  /** True if no key is queued or worked on; keys may still come back at their time. */
  get isIdle(): boolean {
    return this.#queue.size === 0 && this.#running.size === 0;
  }

  /** True while the key waits for a worker, or is worked on. */
  has(key: Key): boolean {
    const kind = this.#states.get(key)?.kind;
    return kind === "queued" || kind === "running";
  }

  /**
   * Has the key worked on as soon as a worker is free. Keys that are added before `run` wait for it.
   *
   * @param turn whose turn it takes, if somebody else has made the work: absent, its own, also if it waits in that of somebody else
   */
  add(key: Key, turn: unknown = this.#ownTurn(key)): void {
    const state = this.#states.get(key);
    if (state?.kind === "running") {
      state.dirty = { turn: state.dirty === undefined ? turn : this.#better(key, state.dirty.turn, turn) };
      return;
    }
    const better = state === undefined ? turn : this.#better(key, state.turn, turn);
    if (state?.kind === "queued") {
      if (better === state.turn) return;
      this.#queue.delete(state.turn, key);
      this.#queue.add(better, key);
      this.#states.set(key, { ...state, turn: better });
      return;
    }
    if (state?.kind === "waiting") state.cancel();
    this.#enqueue(key, better);
  }

  /** Has the key worked on after a while, or earlier if somebody else asks for that. */
  after(key: Key, delayMs: number): void {
    this.#after(key, delayMs, this.#ownTurn(key));
  }

  #after(key: Key, delayMs: number, turn: unknown): void {
    const state = this.#states.get(key);
    if (state?.kind === "queued") return;
    if (state?.kind === "running") {
      state.requeueAfterMs = Math.min(state.requeueAfterMs, delayMs);
      return;
    }
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    if (state?.kind === "waiting") {
      if (state.dueMs <= dueMs) return;
      state.cancel();
    }
    const cancel = this.#options.clock.after(delayMs, () => this.#enqueue(key, turn));
    this.#states.set(key, { kind: "waiting", dueMs, turn, cancel });
  }

  /** Works until the signal aborts, and resolves when the work that was under way then has ended; keys that wait by then are dropped. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#startWorkers();
    await aborted(signal);
    this.#signal = undefined;
    this.#drop();
    await Promise.all(this.#running);
    // Keys that were added while the work ended.
    this.#drop();
    this.#states.clear();
    this.#backoffs.clear();
  }

  #drop(): void {
    for (const state of this.#states.values()) if (state.kind === "waiting") state.cancel();
    this.#queue = new FairQueue();
    this.#options.metrics?.depth(0);
  }

  #ownTurn(key: Key): unknown {
    return this.#options.turnOf?.(key);
  }

  /** Its own turn, if it has asked for that; else the one that it has. */
  #better(key: Key, before: unknown, turn: unknown): unknown {
    return turn === this.#ownTurn(key) ? turn : before;
  }

  #enqueue(key: Key, turn: unknown): void {
    this.#states.set(key, { kind: "queued", sinceMs: this.#options.clock.monotonicMs(), turn });
    this.#queue.add(turn, key);
    this.#options.metrics?.added();
    this.#options.metrics?.depth(this.#queue.size);
    this.#startWorkersSoon();
  }

  /** In a microtask: keys that are added again and again by one caller wait until it has finished. */
  #startWorkersSoon(): void {
    if (this.#isStartDue) return;
    this.#isStartDue = true;
    queueMicrotask(() => {
      this.#isStartDue = false;
      this.#startWorkers();
    });
  }

  #startWorkers(): void {
    const { concurrency = 1, clock, metrics } = this.#options;
    for (const [turn, key] of this.#queue.heads()) {
      if (this.#signal === undefined || this.#signal.aborted || this.#running.size >= concurrency) return;
      const state = this.#states.get(key);
      this.#queue.delete(turn, key);
      this.#queue.moveToBack(turn);
      if (state?.kind !== "queued") continue;
      metrics?.depth(this.#queue.size);
      metrics?.waited(clock.monotonicMs() - state.sinceMs);
      const running = this.#work(key, turn, this.#signal).finally(() => {
        this.#running.delete(running);
        this.#startWorkers();
      });
      this.#running.add(running);
    }
  }

  /** Never rejects. */
  async #work(key: Key, turn: unknown, signal: AbortSignal): Promise<void> {
    const { work, clock, metrics, onError } = this.#options;
    const state: Running = { kind: "running", turn, dirty: undefined, requeueAfterMs: Infinity };
    this.#states.set(key, state);
    const sinceMs = clock.monotonicMs();
    try {
      const result = await work(key, signal);
      if (result?.isPutOff !== true) this.#backoffs.delete(key);
      state.requeueAfterMs = Math.min(state.requeueAfterMs, result?.requeueAfterMs ?? Infinity);
    } catch (error) {
      if (signal.aborted) return;
      const retryMs = this.#backoffOf(key).next();
      state.requeueAfterMs = Math.min(state.requeueAfterMs, retryMs);
      metrics?.retried();
      onError?.(key, error, retryMs);
    } finally {
      metrics?.worked(clock.monotonicMs() - sinceMs);
      this.#ended(key, state, signal);
    }
  }

  #ended(key: Key, { turn, dirty, requeueAfterMs }: Running, signal: AbortSignal): void {
    this.#states.delete(key);
    if (signal.aborted) return;
    const isDone = requeueAfterMs === Infinity;
    if (dirty !== undefined) this.#enqueue(key, isDone ? dirty.turn : this.#better(key, dirty.turn, turn));
    else if (!isDone) this.#after(key, requeueAfterMs, turn);
  }

  #backoffOf(key: Key): Backoff {
    const backoff =
      this.#backoffs.get(key) ?? new Backoff(this.#options.backoff ?? { firstMs: 5, capMs: 1_000_000 });
    this.#backoffs.set(key, backoff);
    return backoff;
  }
}
