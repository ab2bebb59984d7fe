import { BackplaneError, type LeaseKeeper, type Records } from "@bunting/backplane";
import { errorCode, nextTurn } from "@bunting/runtime";
import type { BackplaneMetrics } from "./backplane-metrics.js";
import { storedRecordOf, type Known } from "./known.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import type { Unit } from "./unit.js";

export interface RecordWriterOptions {
  readonly records: Pick<Records, "write" | "confirm" | "read">;
  readonly keeper: Pick<LeaseKeeper, "held">;
  readonly metrics: Pick<BackplaneMetrics, "backplaneWritten" | "backplaneWriteFailed">;
  /** Redis says that the lease has ended. */
  readonly onFenced: (unit: string) => void;
  readonly onFailed: (topic: ReplicatedTopic, error: Error) => void;
}

/** A record that can't be brought in agreement with Redis so often waits for the next round. */
const maxAttempts = 4;

/**
 * Writes what this replica owns. One write of a topic is under way at a time, and what changes meanwhile is written once, after it: so Redis gets
 * the newest, in order, and nothing queues. What it could not write is written in the next round.
 */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  /** Topics of which it is not known yet what Redis holds. */
  readonly #unbased = new Set<ReplicatedTopic>();
  #isBasing = false;
  readonly #commands = new Set<Promise<unknown>>();

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** What is known of the topic has changed, or is to be announced again. */
  changed(topic: ReplicatedTopic): void {
    const lease = this.#options.keeper.held(topic.unit.name);
    if (lease === undefined || topic.current === undefined) return;
    if (topic.basedOn !== lease.fence) {
      this.#unbased.add(topic);
      void this.#baseAll();
      return;
    }
    topic.isDirty = true;
    if (topic.isWriting) return;
    topic.isWriting = true;
    void this.#write(topic);
  }

  /** Tells Redis that all of a unit is as it was, and writes what it does not hold. */
  async confirm(unit: Unit): Promise<void> {
    for (const topic of unit.topics.values())
      if (topic.current !== undefined && !topic.isWriting) this.#unbased.add(topic);
    await this.#baseAll();
  }

  /**
   * Resolves once what was known when this was called has been written, or could not be. Changes that come meanwhile are not waited for: where
   * edits flow, and Redis is slow, there is always one more. Never rejects.
   */
  async settled(): Promise<void> {
    // Of a topic that has changed while it was written, the second command writes what was known. A third follows where Redis held something else.
    for (let commands = 0; commands < 3; commands++) {
      // What goes on in this turn of the event loop may be about to send one.
      await nextTurn();
      await Promise.allSettled(this.#commands);
    }
  }

  /** Sends a command for which `settled` waits. */
  async #command<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    const command = send();
    this.#commands.add(command);
    try {
      return await command;
    } finally {
      this.#commands.delete(command);
    }
  }

  /** Compares with Redis in few large steps, because after a take-over there are thousands to compare. */
  async #baseAll(): Promise<void> {
    if (this.#isBasing) return;
    this.#isBasing = true;
    try {
      // What becomes known in this turn of the event loop goes together.
      await Promise.resolve();
      while (this.#unbased.size > 0) {
        const units = new Map<string, ReplicatedTopic[]>();
        for (const topic of this.#unbased) {
          const { name } = topic.unit;
          const topics = units.get(name);
          if (topics === undefined) units.set(name, [topic]);
          else topics.push(topic);
        }
        this.#unbased.clear();
        for (const [unit, topics] of units) await this.#base(unit, topics);
      }
    } finally {
      this.#isBasing = false;
    }
  }

  async #base(unit: string, topics: readonly ReplicatedTopic[]): Promise<void> {
    const { records, keeper, metrics } = this.#options;
    const lease = keeper.held(unit);
    if (lease === undefined) return;
    const told = topics.flatMap((topic) => {
      const known = topic.current;
      return known === undefined ? [] : [{ topic, known }];
    });
    const [first] = told;
    if (first === undefined) return;
    try {
      const confirmed = told.map(({ topic, known }) => ({ ...known, topic: topic.key }));
      const others = new Set(await this.#command(() => records.confirm(confirmed, lease)));
      metrics.backplaneWritten("confirm", told.length - others.size);
      for (const { topic, known } of told)
        if (!others.has(topic.key)) {
          topic.basedOn = lease.fence;
          const hasChanged = topic.current !== undefined && topic.current !== known;
          if (hasChanged || topic.isAsked) this.changed(topic);
        } else if (!topic.isWriting) {
          topic.basedOn = undefined;
          topic.isDirty = true;
          topic.isWriting = true;
          void this.#write(topic);
        }
    } catch (error) {
      // The same is true of all of them; one is enough to say so.
      this.#fail(first.topic, error);
    }
  }

  async #write(topic: ReplicatedTopic): Promise<void> {
    const { keeper } = this.#options;
    try {
      for (let attempt = 0; topic.isDirty && attempt < maxAttempts;) {
        const lease = keeper.held(topic.unit.name);
        if (lease === undefined || topic.current === undefined) return;
        topic.isDirty = false;
        if (topic.basedOn !== lease.fence) {
          attempt++;
          await this.#read(topic, lease.fence);
          topic.isDirty = true;
        } else if (!(await this.#writeOnce(topic, topic.current))) attempt++;
      }
    } catch (error) {
      this.#fail(topic, error);
    } finally {
      topic.isWriting = false;
    }
  }

  /** Learns what Redis holds, which decides where in the history what is known has its place. */
  async #read(topic: ReplicatedTopic, fence: number): Promise<void> {
    try {
      const stored = await this.#command(() => this.#options.records.read(topic.key));
      if (stored === undefined) topic.anchor(fence);
      else topic.rebase(stored);
    } catch (error) {
      if (!(error instanceof BackplaneError) || !error.code.startsWith("RECORD_")) throw error;
      // It is overwritten.
      topic.anchor(fence);
    }
    topic.basedOn = fence;
  }

  /** False if Redis holds something newer. */
  async #writeOnce(topic: ReplicatedTopic, known: Known): Promise<boolean> {
    const { records, keeper, metrics } = this.#options;
    const lease = keeper.held(topic.unit.name);
    if (lease === undefined) return false;
    try {
      await this.#command(() => records.write(storedRecordOf(topic.key, known), lease));
      topic.isAsked = false;
      metrics.backplaneWritten("write", 1);
      return true;
    } catch (error) {
      if (!(error instanceof BackplaneError) || error.code !== "VERSION_OLDER") throw error;
      topic.basedOn = undefined;
      topic.isDirty = true;
      return false;
    }
  }

  #fail(topic: ReplicatedTopic, error: unknown): void {
    const { metrics, onFenced, onFailed } = this.#options;
    const code = errorCode(error) ?? "INTERNAL";
    metrics.backplaneWriteFailed(code);
    topic.basedOn = undefined;
    if (code === "FENCED") onFenced(topic.unit.name);
    else onFailed(topic, error as Error);
  }
}
