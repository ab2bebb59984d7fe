import type { TopicKey } from "@bunting/protocol";
import type { Clock, Logger } from "@bunting/runtime";

/** A flag or a whole version that agents refuse. */
export interface Rejection {
  /** Digest of the version. */
  readonly digest: string;
  /** Undefined if the whole version is refused. */
  readonly flag: string | undefined;
  readonly reason: string;
  /** The number of agents that refuse it now. */
  readonly subscribers: number;
}

interface Entry extends Rejection {
  subscribers: number;
}

const maxRejections = 100;
/** Rejections are logged after this delay, so that one line counts all agents, and at most once per `logEveryMs`. */
const firstLogMs = 1_000;
const logEveryMs = 10_000;
const maxLinesAtOnce = 20;

/**
 * What the agents of a topic acknowledged by bunting.sync.v1: which versions they hold, and what they refuse. Bounded: digests by the number
 * of subscribers, rejections to a hundred; those without a subscriber make room for new ones.
 */
export class TopicAcks {
  readonly #topic: TopicKey;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #held = new Map<string, number>();
  readonly #rejections = new Map<string, Entry>();
  #unlogged: Entry[] = [];
  #loggedMs: number | undefined;
  #cancelLog: (() => void) | undefined;

  constructor(topic: TopicKey, clock: Clock, logger: Logger) {
    this.#topic = topic;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** By digest, how many subscribers say they hold that version. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** Oldest first; some may have no subscriber any more. */
  get rejections(): Iterable<Rejection> {
    return this.#rejections.values();
  }

  /** A subscriber now holds another version; an empty digest stands for none. */
  hold(before: string, now: string): void {
    if (before === now) return;
    if (before !== "") {
      const left = (this.#held.get(before) ?? 0) - 1;
      if (left > 0) this.#held.set(before, left);
      else this.#held.delete(before);
    }
    if (now !== "") this.#held.set(now, (this.#held.get(now) ?? 0) + 1);
  }

  /** A subscriber refuses something, and must release it later. Undefined if there is no room to keep it. */
  reject(digest: string, flag: string | undefined, reason: string): Rejection | undefined {
    // Of a flag only the first reason is kept.
    const key = flag === undefined ? `${digest} nack ${reason}` : `${digest} flag ${flag}`;
    let entry = this.#rejections.get(key);
    if (entry === undefined) {
      if (!this.#makeRoom()) return undefined;
      entry = { digest, flag, reason, subscribers: 0 };
      this.#rejections.set(key, entry);
      this.#logSoon(entry);
    }
    entry.subscribers++;
    return entry;
  }

  release(rejection: Rejection): void {
    (rejection as Entry).subscribers--;
  }

  /** The topic has ended: logs what is left. */
  close(): void {
    this.#cancelLog?.();
    this.#log();
  }

  #makeRoom(): boolean {
    if (this.#rejections.size < maxRejections) return true;
    for (const [key, { subscribers }] of this.#rejections) {
      if (subscribers > 0) continue;
      this.#rejections.delete(key);
      return true;
    }
    return false;
  }

  #logSoon(entry: Entry): void {
    this.#unlogged.push(entry);
    if (this.#unlogged.length > 1) return;
    const nextMs = (this.#loggedMs ?? -logEveryMs) + logEveryMs - this.#clock.monotonicMs();
    this.#cancelLog = this.#clock.after(Math.max(firstLogMs, nextMs), () => this.#log());
  }

  #log(): void {
    if (this.#unlogged.length === 0) return;
    const entries = this.#unlogged;
    this.#unlogged = [];
    this.#loggedMs = this.#clock.monotonicMs();
    const topic = this.#topic;
    for (const { digest, flag, reason, subscribers } of entries.slice(0, maxLinesAtOnce)) {
      if (flag === undefined)
        this.#logger.warn({ topic, digest, reason, subscribers }, "agents refused a version");
      else this.#logger.warn({ topic, digest, flag, reason, subscribers }, "agents refused a flag");
    }
    const more = entries.length - maxLinesAtOnce;
    if (more > 0)
      this.#logger.warn({ topic, more }, "agents refused more than is logged at once; /status lists all");
  }
}
