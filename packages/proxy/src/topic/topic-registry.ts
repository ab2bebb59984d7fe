import type { Readers, TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import { aborted, type Runnable, RateLimitedLog, type Context } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { FlagSource } from "../source/flag-source.js";
import { isLocal } from "../source/is-local.js";
import { DocumentLedger } from "./document-ledger.js";
import { FanOut } from "./fan-out.js";
import { StagedTopic } from "./staged-topic.js";
import type { Subscriber, Subscription } from "./subscription.js";
import type { LostSubscribers, TopicPolicies } from "./topic-options.js";
import { Topic } from "./topic.js";
import type { TopicQuota } from "./topic-quota.js";

export interface TopicRegistryOptions extends TopicPolicies {
  readonly source: FlagSource;
  readonly context: Context<ProxyMetrics>;
  /** How long a topic without subscribers keeps its watch and snapshot for the next subscriber, in ms. */
  readonly lingerMs: number;
  /** The subscribers that must not be sent a topic's version reported last; none if not given. */
  readonly lost?: LostSubscribers | undefined;
  /** Limits the topics of a connection and of an address; no limits if not given. */
  readonly quota?: TopicQuota | undefined;
  /** A new one if not given. */
  readonly fanOut?: FanOut;
}

/**
 * Limit of kept topics that refuse their subscribers because the document does not exist. Refused clients try again soon,
 * and without the topic each try would read the source again. The limit is there because peers may guess names.
 */
const maxRefusing = 512;

/** Whether the grace of a topic without subscribers is over is looked at no more often than this, in ms. */
const leastGraceMs = 1_000;

interface Entry {
  readonly staged: StagedTopic;
  readonly topic: Topic;
  /** Ends the topic's watch. */
  readonly abort: AbortController;
  cancelLinger: (() => void) | undefined;
}

/**
 * All topics with subscribers, or with a document kept for the next ones, each with one watch of the source.
 *
 * Invariant: an entry is in the map exactly as long as its topic is alive and watched. It is removed in the turn that ends
 * the topic, so that no subscriber joins a dead one (which is how flagd-proxy wedges a target until it is restarted). A
 * topic whose document does not exist is alive: its watch reports the document later.
 */
export class TopicRegistry implements Runnable {
  readonly name = "topics";
  readonly #options: TopicRegistryOptions;
  readonly #fanOut: FanOut;
  readonly #log: RateLimitedLog;
  readonly #ledger: DocumentLedger;
  readonly #entries = new Map<TopicKey, Entry>();
  /** Kept topics that refuse subscribers; the longest idle first. */
  readonly #refusing = new Set<Entry>();
  /** Symbols that stand for connections, which the source must not retain. */
  readonly #peers = new WeakMap<TransportSession, symbol>();
  #hasStopped = false;

  constructor(options: TopicRegistryOptions, ledger = new DocumentLedger()) {
    this.#options = options;
    this.#fanOut = options.fanOut ?? new FanOut();
    this.#ledger = ledger;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
  }

  /** The number of topics, lingering ones included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The topics, lingering ones included. */
  *topics(): IterableIterator<Topic> {
    for (const { topic } of this.#entries.values()) yield topic;
  }

  /**
   * The readers of a topic, of those that the source knows by a watch of its own: that one and the watch of the document can be
   * late, and only what both say counts.
   */
  readersOf(key: TopicKey, known: Readers | undefined | "unknown"): Readers | undefined | "unknown" {
    const own = this.#entries.get(key)?.topic.readers;
    if (own === undefined || known === undefined) return known;
    return known === "unknown" ? own : new Set([...own].filter((reader) => known.has(reader)));
  }

  /**
   * Subscribes to a topic, which is created for its first subscriber. The caller must take the present snapshot at once.
   *
   * @throws ProxyError TOPIC_MISSING if the document does not exist and the missing policy is `fail`; LIMIT_REACHED if its connection or
   * address has too many topics; SHUTTING_DOWN after the end.
   */
  subscribe(key: TopicKey, subscriber: Subscriber): Subscription {
    if (this.#hasStopped) throw new ProxyError("SHUTTING_DOWN", "the proxy is shutting down; connect again");
    const known = this.#entries.get(key);
    const { connection } = subscriber;
    if (connection !== undefined) this.#options.quota?.check(connection, known?.topic.charge);
    const entry = known ?? this.#begin(key, connection);
    entry.cancelLinger?.();
    entry.cancelLinger = undefined;
    this.#refusing.delete(entry);
    try {
      return entry.staged.subscribe(subscriber);
    } finally {
      // The topic is kept: the refused subscriber tries again soon, without a new watch or another warning.
      if (entry.staged.size === 0) this.#idle(key);
    }
  }

  /**
   * Makes the source read a topic again, because a subscriber has a newer version. `done` is called after the topic was
   * updated; at once if the source has no refresh, because it is always current. It is never called if the topic ends, or
   * the returned function is called, before.
   */
  refresh(key: TopicKey, done: () => void, connection?: TransportSession): () => void {
    const { source } = this.#options;
    if (source.refresh !== undefined) return source.refresh(key, done, this.#peerOf(connection));
    done();
    return () => undefined;
  }

  /** Keeps the topics until the signal aborts, then ends them all. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#hasStopped = true;
    for (const key of [...this.#entries.keys()]) this.#end(key);
  }

  #begin(key: TopicKey, connection: TransportSession | undefined): Entry {
    const { source, quota, ...options } = this.#options;
    const onIdle = (): void => this.#idle(key);
    const charge = quota?.open();
    const shared = {
      fanOut: this.#fanOut,
      ledger: this.#ledger,
      context: { ...options.context, log: this.#log },
      lost: options.lost,
      onIdle,
      onRoom: (done: () => void) => source.offerAgain(key, done),
    };
    const topic = new Topic({ ...options, ...shared, key, charge });
    const entry: Entry = {
      staged: new StagedTopic({ ...shared, topic }),
      topic,
      abort: new AbortController(),
      cancelLinger: undefined,
    };
    this.#entries.set(key, entry);
    source.watch(key, entry.staged, entry.abort.signal, this.#peerOf(connection));
    return entry;
  }

  /** The peer for the source's fairness: an address, or a connection where many share an address. */
  #peerOf(connection: TransportSession | undefined): unknown {
    if (connection === undefined || !isLocal(connection.remoteAddress)) return connection?.remoteAddress;
    const known = this.#peers.get(connection);
    const peer = known ?? Symbol(connection.remoteAddress);
    if (known === undefined) this.#peers.set(connection, peer);
    return peer;
  }

  /** A topic has lost its last subscriber: it lingers if it has a document, or a refusal, for the next one. */
  #idle(key: TopicKey): void {
    const entry = this.#entries.get(key);
    // Those that try a new version are not the topic's own, and keep it.
    if (entry === undefined || entry.staged.size > 0) return;
    const { topic } = entry;
    if (topic.sequence > 0) this.#linger(key, entry);
    else if (topic.refusesSubscribers) this.#refuse(key, entry);
    else this.#end(key);
  }

  #refuse(key: TopicKey, entry: Entry): void {
    this.#linger(key, entry);
    this.#refusing.add(entry);
    if (this.#refusing.size <= maxRefusing) return;
    const [oldest] = this.#refusing;
    // In a later turn: the source may be in the middle of reporting to several topics.
    queueMicrotask(() => {
      if (oldest !== undefined && this.#refusing.has(oldest)) this.#end(oldest.topic.key);
    });
  }

  #linger(key: TopicKey, entry: Entry): void {
    const { context, lingerMs } = this.#options;
    entry.cancelLinger?.();
    // During the grace the last snapshot is kept for new subscribers too, also by a linger of 0.
    const nextMs = entry.topic.isInGrace ? Math.max(lingerMs, leastGraceMs) : lingerMs;
    entry.cancelLinger = context.clock.after(nextMs, () => {
      if (entry.topic.isInGrace) this.#linger(key, entry);
      else this.#end(key);
    });
  }

  #end(key: TopicKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#refusing.delete(entry);
    entry.cancelLinger?.();
    entry.abort.abort();
    entry.staged.close();
  }
}
