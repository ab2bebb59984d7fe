import type { TopicKey } from "@bunting/protocol";
import type { Clock, RateLimitedLog } from "@bunting/runtime";

/** A flag or a whole version that agents refuse. */
export interface FlagRejection {
  readonly digest: string;
  /** Undefined if the whole version is refused. */
  readonly flag: string | undefined;
  readonly reason: string;
  readonly subscribers: number;
  /** These agents have refused the flag in another version as well, before they tried this one. */
  readonly isOld?: boolean;
}

/** What an agent refuses: a flag, or the whole version if `flag` is undefined. */
export type NamedRefusal = Pick<FlagRejection, "flag" | "reason" | "isOld">;

interface Entry extends FlagRejection {
  subscribers: number;
}

const maxRejections = 100;
/** Limit per connection: a single agent must not hide the rejections of others. */
const maxPerConnection = 20;
/** Rejections are logged after this delay, so that one line counts all agents, and at most once per `logEveryMs`. */
const firstLogMs = 1_000;
const logEveryMs = 10_000;
const maxLinesAtOnce = 20;
/** Rejections of all topics together. */
const linesPerMinute = 120;

/**
 * The acks and nacks of a topic's agents (bunting.sync.v1): the versions that they have, and those that they refuse.
 * Digests are bounded by the number of subscribers; rejections to a hundred, and to twenty per connection. Rejections
 * without a subscriber make room for new ones. Of those for which there is no room, it is counted how many agents have any.
 */
export class TopicAcks {
  readonly #topic: TopicKey;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #held = new Map<string, number>();
  readonly #rejections = new Map<string, Entry>();
  /** The connection that sent each rejection first, while a subscriber retains it; and their number per connection. */
  readonly #origins = new Map<Entry, object>();
  readonly #counts = new Map<object, number>();
  /** By digest: what stands for all rejections without room. */
  readonly #unlisted = new Map<string, Entry>();
  #refusing = 0;
  #unlogged: Entry[] = [];
  #unloggedMore = 0;
  #loggedMs: number | undefined;
  #cancelLog: (() => void) | undefined;

  constructor(topic: TopicKey, clock: Clock, log: RateLimitedLog) {
    this.#topic = topic;
    this.#clock = clock;
    this.#log = log;
  }

  /** Number of subscribers by the digest that they have acknowledged. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** Rejections, oldest first; some may have no subscriber any more. */
  get rejections(): Iterable<FlagRejection> {
    return this.#rejections.values();
  }

  /** By digest, how many subscribers refuse flags for which there is no room. */
  get unlisted(): Iterable<FlagRejection> {
    return this.#unlisted.values();
  }

  /** Number of subscribers that refuse something now. */
  get refusing(): number {
    return this.#refusing;
  }

  /** A subscriber goes from one acknowledged digest to another; empty stands for none. */
  acknowledge(before: string, now: string): void {
    if (before === now) return;
    if (before !== "") {
      const left = (this.#held.get(before) ?? 0) - 1;
      if (left > 0) this.#held.set(before, left);
      else this.#held.delete(before);
    }
    if (now !== "") this.#held.set(now, (this.#held.get(now) ?? 0) + 1);
  }

  /**
   * Counts what a subscriber refuses of a version, in place of what it refused before, and returns what it is counted in. New rejections are
   * counted first, so that those in both are never dropped.
   */
  refuse(
    connection: object,
    digest: string,
    parts: readonly NamedRefusal[],
    before: ReadonlySet<FlagRejection>,
  ): ReadonlySet<FlagRejection> {
    const rejections = new Set<FlagRejection>();
    for (const part of parts) {
      const entry = this.#entryOf(connection, digest, part);
      // The same flag may be named twice.
      if (rejections.has(entry)) continue;
      rejections.add(entry);
      entry.subscribers++;
    }
    for (const rejection of before) this.#release(rejection);
    this.#refusing += Number(rejections.size > 0) - Number(before.size > 0);
    return rejections;
  }

  #entryOf(connection: object, digest: string, { flag, reason, isOld = false }: NamedRefusal): Entry {
    // Only the first reason per flag is kept.
    const kind = isOld ? "old" : "flag";
    const key = flag === undefined ? `${digest} nack ${reason}` : `${digest} ${kind} ${flag}`;
    const known = this.#rejections.get(key);
    if (known !== undefined && this.#origins.has(known)) return known;
    const count = this.#counts.get(connection) ?? 0;
    const hasRoom = count < maxPerConnection && (known !== undefined || this.#makeRoom());
    if (!hasRoom) return this.#unlistedOf(digest);
    // One that nobody upheld any more has another origin now.
    const entry = known ?? { digest, flag, reason, subscribers: 0, ...(isOld ? { isOld } : {}) };
    this.#origins.set(entry, connection);
    this.#counts.set(connection, count + 1);
    if (known === undefined) {
      this.#rejections.set(key, entry);
      this.#logSoon(entry);
    }
    return entry;
  }

  #unlistedOf(digest: string): Entry {
    const known = this.#unlisted.get(digest);
    if (known !== undefined) return known;
    const entry = { digest, flag: undefined, reason: "more than can be listed", subscribers: 0 };
    this.#unlisted.set(digest, entry);
    return entry;
  }

  #release(entry: Entry): void {
    if (--entry.subscribers > 0) return;
    if (this.#unlisted.get(entry.digest) === entry) this.#unlisted.delete(entry.digest);
    const origin = this.#origins.get(entry);
    if (origin === undefined) return;
    this.#origins.delete(entry);
    const count = (this.#counts.get(origin) ?? 0) - 1;
    if (count > 0) this.#counts.set(origin, count);
    else this.#counts.delete(origin);
  }

  /** The topic has ended: logs what is left. */
  close(): void {
    this.#cancelLog?.();
    this.#logAll();
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
    if (this.#unlogged.length === maxLinesAtOnce) {
      this.#unloggedMore++;
      return;
    }
    this.#unlogged.push(entry);
    if (this.#unlogged.length > 1) return;
    const nextMs = (this.#loggedMs ?? -logEveryMs) + logEveryMs - this.#clock.monotonicMs();
    this.#cancelLog = this.#clock.after(Math.max(firstLogMs, nextMs), () => this.#logAll());
  }

  #logAll(): void {
    if (this.#unlogged.length === 0) return;
    const entries = this.#unlogged;
    const more = this.#unloggedMore;
    this.#unlogged = [];
    this.#unloggedMore = 0;
    this.#loggedMs = this.#clock.monotonicMs();
    const topic = this.#topic;
    for (const { digest, flag, reason, subscribers } of entries) {
      if (flag === undefined) this.#warn({ topic, digest, reason, subscribers }, "agents refused a version");
      else this.#warn({ topic, digest, flag, reason, subscribers }, "agents refused a flag");
    }
    if (more > 0)
      this.#warn({ topic, more }, "agents refused more than is logged at once; /status lists all");
  }

  #warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#log.warn("rejected", fields, message, linesPerMinute);
  }
}
