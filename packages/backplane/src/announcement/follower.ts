import type { TopicKey } from "@bunting/protocol";
import { isAborted, WorkQueue, type Clock, type Runnable, type DocumentRoom } from "@bunting/runtime";
import type { BackplaneError } from "../backplane-error.js";
import { fromRedisError } from "../connection/redis-error.js";
import { comparePositions, type RecordPosition } from "../record/position.js";
import type { Records } from "../record/records.js";
import type { StoredRecord } from "../record/topic-record.js";
import { RefusedRecord } from "./refused-record.js";

/** Receives the reports of a follower about one topic. */
export interface FollowerSink {
  /** True while no owner has recently confirmed the last report: the next confirmation is to be reported at once. */
  readonly isUnconfirmed: boolean;
  /**
   * Reports the newest record. Positions never go back, and each is accepted at most once.
   *
   * @returns false to refuse the record for now: the next comparison reports it again
   */
  record(stored: StoredRecord): boolean;
  /**
   * Reports, at each comparison, that Redis holds nothing newer than the last report.
   *
   * @param agoMs time since an owner confirmed what Redis holds
   * @param position what Redis holds, which may be older than the last report
   * @param isAbsent true if Redis holds that there is no FeatureFlag. An owner that has not seen which version was deleted says so at an earlier position
   */
  confirmed(agoMs: number, position: RecordPosition, isAbsent: boolean): void;
  /** Reports that Redis holds nothing of the topic. The last report stays true. */
  absent(): void;
  /**
   * Reports, at each attempt to read it, that the record can't be read or can't be trusted: the topic has to be
   * watched in another way.
   */
  refused(error: BackplaneError): void;
}

export interface FollowerOptions {
  readonly records: Pick<Records, "read" | "positions">;
  /** Memory budget of documents: decides when to retry a record that there was no room for. */
  readonly room: DocumentRoom;
  readonly compareMs: number;
  readonly clock: Clock;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

interface Followed {
  readonly topic: TopicKey;
  readonly sink: FollowerSink;
  readonly signal: AbortSignal;
  /** Position of the last record that the sink took. */
  reported: RecordPosition | undefined;
  /** Set if the record that was read last can't be used. */
  refused: RefusedRecord | undefined;
}

/** Concurrency limit of reads: a start with thousands of topics must not fill memory with documents. */
const readsAtOnce = 16;

/**
 * Follows topics that other replicas own: a cache of records, invalidated by announcements and by polling.
 *
 * Invariants:
 * - Announcements trigger reads. Positions are also compared every `compareMs`, so that a lost announcement costs
 *   seconds.
 * - Reports never go back. After a failover Redis may hold an older record than the last report, until the owner
 *   writes again; that older record is not reported.
 * - One read of a topic is under way at a time, and at most `readsAtOnce` of all topics. A topic that is announced during
 *   its read is read again.
 * - A record that can't be used is retried at comparisons, with backoff (`RefusedRecord`).
 */
export class Follower implements Runnable {
  readonly name = "follower";
  readonly #options: FollowerOptions;
  readonly #followed = new Map<TopicKey, Followed>();
  readonly #reads: WorkQueue<Followed>;
  readonly #comparisons: WorkQueue<"all">;

  constructor(options: FollowerOptions) {
    const { compareMs, clock, random = Math.random } = options;
    this.#options = options;
    this.#reads = new WorkQueue({
      name: "reads",
      work: (followed) => this.#read(followed),
      concurrency: readsAtOnce,
      clock,
    });
    this.#comparisons = new WorkQueue({
      name: "comparisons",
      work: async () => {
        // Without Redis there is nothing to compare with; the connection logs that.
        await this.#compare([...this.#followed.values()]).catch(() => undefined);
        // Jitter: replicas that started together would compare together.
        return { requeueAfterMs: compareMs * (0.75 + 0.25 * random()) };
      },
      clock,
    });
  }

  /** Reads what is announced, and compares every `compareMs`, with jitter, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.compare();
    await Promise.all([this.#reads.run(signal), this.#comparisons.run(signal)]);
  }

  /**
   * Follows a topic until the signal aborts. A topic has one sink at a time, which is never called from within this.
   *
   * @param reported the position that the sink holds already: nothing older is reported, nor that one again
   */
  follow(topic: TopicKey, sink: FollowerSink, signal: AbortSignal, reported?: RecordPosition): void {
    if (signal.aborted) return;
    const followed: Followed = { topic, sink, signal, reported, refused: undefined };
    this.#followed.set(topic, followed);
    const leave = (): void => {
      if (this.#followed.get(topic) === followed) this.#followed.delete(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#reads.add(followed);
  }

  /** Called for each announcement. An owner repeats one when a replica waits for the version to be confirmed. */
  announced(topic: TopicKey, position: RecordPosition): void {
    const followed = this.#followed.get(topic);
    if (followed === undefined) return;
    const { reported, sink } = followed;
    const order = reported === undefined ? 1 : comparePositions(position, reported);
    // Versions of one epoch may be announced late, but epochs do not go back: what was reported is in doubt.
    const isEarlierEpoch = reported !== undefined && position.epoch < reported.epoch;
    if (order > 0 || isEarlierEpoch || (order === 0 && sink.isUnconfirmed)) this.#reads.add(followed);
  }

  /**
   * Compares the positions of all topics with those in Redis; to be called after a gap in the announcements, and when
   * Redis is back. A call while a comparison is under way makes another one follow it.
   */
  compare(): void {
    this.#comparisons.add("all");
  }

  /**
   * Compares only topics whose sink is unconfirmed. A record that can't be used is not read again for this, because
   * its owner announces the next one. Never rejects.
   */
  async compareUnconfirmed(): Promise<void> {
    const unconfirmed = [...this.#followed.values()].filter(
      ({ sink, refused }) => sink.isUnconfirmed && refused === undefined,
    );
    if (unconfirmed.length > 0) await this.#compare(unconfirmed).catch(() => undefined);
  }

  async #compare(compared: readonly Followed[]): Promise<void> {
    const positions = await this.#options.records.positions(compared.map(({ topic }) => topic));
    for (const followed of compared) {
      const { topic, signal } = followed;
      if (signal.aborted) continue;
      const position = positions.get(topic);
      if (position === undefined) followed.sink.absent();
      else {
        const isNew = followed.reported === undefined || comparePositions(position, followed.reported) > 0;
        if (isNew) {
          if (followed.refused?.isWorthReading(position) !== false) this.#reads.add(followed);
        } else followed.sink.confirmed(position.confirmedAgoMs, position, position.isAbsent);
      }
    }
  }

  /** Never rejects. */
  async #read(followed: Followed): Promise<undefined> {
    const { topic, signal } = followed;
    if (signal.aborted) return;
    try {
      const stored = await this.#options.records.read(topic);
      followed.refused = undefined;
      if (!isAborted(signal)) report(followed, stored);
    } catch (error) {
      const failure = fromRedisError(error);
      // Without Redis the next comparison reads again.
      if (isAborted(signal) || !failure.code.startsWith("RECORD_")) return;
      followed.refused = new RefusedRecord(failure, this.#options.room, followed.refused);
      followed.sink.refused(failure);
    }
  }
}

function report(followed: Followed, stored: StoredRecord | undefined): void {
  const { sink, reported } = followed;
  if (stored === undefined) sink.absent();
  else if (reported !== undefined && comparePositions(stored.record, reported) <= 0)
    sink.confirmed(stored.confirmedAgoMs, stored.record, stored.record.kind !== "document");
  else {
    const { epoch, resourceVersion } = stored.record;
    if (sink.record(stored)) followed.reported = { epoch, resourceVersion };
  }
}
