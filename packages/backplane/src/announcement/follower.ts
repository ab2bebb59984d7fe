import type { TopicKey } from "@bunting/protocol";
import { Semaphore, sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { BackplaneError } from "../backplane-error.js";
import { fromRedisError } from "../connection/redis-error.js";
import { comparePositions, type RecordPosition } from "../record/position.js";
import type { Records } from "../record/records.js";
import type { DocumentRoom } from "../record/document-room.js";
import type { StoredRecord } from "../record/topic-record.js";
import { RefusedRecord } from "./refused-record.js";

/** What a follower tells of a topic. */
export interface FollowerSink {
  /** No owner has confirmed lately what was told: it is to be learnt as soon as one does. */
  readonly isUnconfirmed: boolean;
  /**
   * The newest record: its position is never older than that of the one before, and the same at most once. Returns false if it does not take it
   * for now: then it is told the same again with the next comparison.
   */
  record(stored: StoredRecord): boolean;
  /** Redis holds nothing newer than what was told; told at each comparison, with what it holds and how long ago an owner confirmed that. */
  confirmed(agoMs: number, position: RecordPosition): void;
  /** Redis holds nothing of the topic (any more); what was told before stays true. */
  absent(): void;
  /** The record is not one that can be read, or is not to be trusted: the topic has to be watched otherwise. Told with each attempt to read it. */
  refused(error: BackplaneError): void;
}

export interface FollowerOptions {
  readonly records: Pick<Records, "read" | "positions">;
  /** What a record that there was no room for is read again by. */
  readonly room: DocumentRoom;
  readonly compareMs: number;
  readonly clock: Clock;
  /** In [0, 1); injected by tests. */
  readonly random?: () => number;
}

interface Followed {
  readonly sink: FollowerSink;
  readonly signal: AbortSignal;
  /** Of what was told last. */
  held: RecordPosition | undefined;
  isReading: boolean;
  /** Something was announced while the record was read: it has to be read again. */
  isDirty: boolean;
  /** What was read last can't be used. */
  refused: RefusedRecord | undefined;
}

/** How many records are read at once: a start with thousands of topics must not fill memory with documents. */
const readsAtOnce = 16;

/**
 * Follows topics that other replicas own. Announcements say when to read; versions are compared from time to time all the same, so that an
 * announcement that was lost costs seconds. It goes by positions only, and never back: what Redis holds may be older than what it told, after
 * a failover for instance, until the owner writes again.
 */
export class Follower implements Runnable {
  readonly name = "follower";
  readonly #options: FollowerOptions;
  readonly #followed = new Map<TopicKey, Followed>();
  readonly #reads = new Semaphore(readsAtOnce);
  #isComparing = false;
  #isCompareDue = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Compares now and then until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { compareMs, clock, random = Math.random } = this.#options;
    while (!signal.aborted) {
      await this.compare();
      // Replicas that started together would ask together.
      await sleep(compareMs * (0.75 + 0.25 * random()), signal, clock);
    }
  }

  /**
   * Follows a topic until the signal aborts; one follows it at a time. The sink is never called from within this.
   *
   * @param held what is known of the topic already: nothing older is told, and not the same again
   */
  follow(topic: TopicKey, sink: FollowerSink, signal: AbortSignal, held?: RecordPosition): void {
    if (signal.aborted) return;
    const followed: Followed = { sink, signal, held, isReading: false, isDirty: false, refused: undefined };
    this.#followed.set(topic, followed);
    const leave = (): void => {
      if (this.#followed.get(topic) === followed) this.#followed.delete(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#refresh(topic, followed);
  }

  /** Redis has announced a version. Owners announce a version once more for those who wait to have it confirmed. */
  announced(topic: TopicKey, position: RecordPosition): void {
    const followed = this.#followed.get(topic);
    if (followed === undefined) return;
    const order = followed.held === undefined ? 1 : comparePositions(position, followed.held);
    if (order > 0 || (order === 0 && followed.sink.isUnconfirmed)) this.#refresh(topic, followed);
  }

  /**
   * Compares the versions of all topics with those in Redis: from time to time, after a gap in the announcements, and when Redis is back. What
   * is asked for meanwhile is done right after. Never rejects.
   */
  async compare(): Promise<void> {
    this.#isCompareDue = true;
    if (this.#isComparing) return;
    this.#isComparing = true;
    while (this.#isCompareDue) {
      this.#isCompareDue = false;
      // Without Redis there is nothing to compare with; the connection says so.
      await this.#compareThose([...this.#followed]).catch(() => undefined);
    }
    this.#isComparing = false;
  }

  /**
   * Compares only those that no owner has confirmed lately. A record that can't be used is not read for this: what its owner writes anew is
   * announced. Never rejects.
   */
  async compareUnconfirmed(): Promise<void> {
    const unconfirmed = [...this.#followed].filter(
      ([, { sink, refused }]) => sink.isUnconfirmed && refused === undefined,
    );
    if (unconfirmed.length > 0) await this.#compareThose(unconfirmed).catch(() => undefined);
  }

  async #compareThose(compared: readonly (readonly [TopicKey, Followed])[]): Promise<void> {
    const positions = await this.#options.records.positions(compared.map(([topic]) => topic));
    for (const [topic, followed] of compared) {
      if (followed.signal.aborted) continue;
      const position = positions.get(topic);
      if (position === undefined) followed.sink.absent();
      else {
        const isNew = followed.held === undefined || comparePositions(position, followed.held) > 0;
        if (isNew) {
          if (followed.refused?.isWorthReading(position) !== false) this.#refresh(topic, followed);
        } else followed.sink.confirmed(position.confirmedAgoMs, position);
      }
    }
  }

  #refresh(topic: TopicKey, followed: Followed): void {
    followed.isDirty = true;
    if (followed.isReading) return;
    followed.isReading = true;
    void this.#readWhileDirty(topic, followed);
  }

  async #readWhileDirty(topic: TopicKey, followed: Followed): Promise<void> {
    while (followed.isDirty && !followed.signal.aborted) {
      try {
        await this.#reads.run(() => this.#readOnce(topic, followed), followed.signal);
      } catch {
        // It was left while it waited for its turn.
      }
    }
    followed.isReading = false;
  }

  async #readOnce(topic: TopicKey, followed: Followed): Promise<void> {
    // What is announced from now on may be newer than what is read.
    followed.isDirty = false;
    const isLeft = (): boolean => followed.signal.aborted;
    try {
      const stored = await this.#options.records.read(topic);
      followed.refused = undefined;
      if (!isLeft()) tell(followed, stored);
    } catch (error) {
      const failure = fromRedisError(error);
      // Without Redis the next comparison reads again.
      if (isLeft() || !failure.code.startsWith("RECORD_")) return;
      followed.refused = new RefusedRecord(failure, this.#options.room, followed.refused);
      followed.sink.refused(failure);
    }
  }
}

function tell(followed: Followed, stored: StoredRecord | undefined): void {
  const { sink, held } = followed;
  if (stored === undefined) sink.absent();
  else if (held !== undefined && comparePositions(stored.record, held) <= 0)
    sink.confirmed(stored.confirmedAgoMs, stored.record);
  else {
    const { epoch, resourceVersion } = stored.record;
    if (sink.record(stored)) followed.held = { epoch, resourceVersion };
  }
}
