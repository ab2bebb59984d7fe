import { BackplaneError, type LeaseKeeper, type Records } from "@bunting/backplane";
import { errorCode, nextTurn } from "@bunting/runtime";
import type { BackplaneMetrics } from "./backplane-metrics.js";
import { storedRecordOf, type Known } from "./known.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import type { OwnershipUnit } from "./ownership-unit.js";

export interface RecordWriterOptions {
  readonly records: Pick<Records, "write" | "confirm" | "read">;
  readonly keeper: Pick<LeaseKeeper, "held">;
  readonly metrics: Pick<BackplaneMetrics, "backplaneWritten" | "backplaneWriteFailed">;
  /** Redis says that the lease has ended. */
  readonly onFenced: (unit: string) => void;
  readonly onFailed: (topic: ReplicatedTopic, error: Error) => void;
}

/** Attempts to bring a record into agreement with Redis; then it waits for the next reconciliation. */
const maxAttempts = 4;

/**
 * Writes the records that this replica owns. A topic has one write under way at a time, and one more follows if the
 * topic changes meanwhile: Redis gets the newest state, in order, and nothing queues. Failed writes are repeated by the
 * next reconciliation.
 */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  /** Topics whose record in Redis was not yet compared under the present lease. */
  readonly #unbased = new Set<ReplicatedTopic>();
  #isBasing = false;
  readonly #commands = new Set<Promise<unknown>>();

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** The state of the topic has changed, or is to be announced again. */
  changed(topic: ReplicatedTopic): void {
    const lease = this.#options.keeper.held(topic.ownershipUnit.name);
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

  /** Confirms all records of a unit in Redis, and writes those that Redis does not hold. */
  async confirm(unit: OwnershipUnit): Promise<void> {
    for (const topic of unit.topics.values())
      if (topic.current !== undefined && !topic.isWriting) this.#unbased.add(topic);
    await this.#baseAll();
  }

  /**
   * Resolves once the states of the time of this call have been written, or could not be. Later changes are not waited
   * for: with a slow Redis and many edits there is always one more. Never rejects.
   */
  async settled(): Promise<void> {
    // A topic that changed during a write needs a second command; a third, where Redis held something else.
    for (let commands = 0; commands < 3; commands++) {
      // Work in this turn of the event loop may be about to send a command.
      await nextTurn();
      await Promise.allSettled(this.#commands);
    }
  }

  /** Sends a command that `settled` waits for. */
  async #command<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    const command = send();
    this.#commands.add(command);
    try {
      return await command;
    } finally {
      this.#commands.delete(command);
    }
  }

  /** Compares with Redis in few large commands, because a take-over brings thousands of topics. */
  async #baseAll(): Promise<void> {
    if (this.#isBasing) return;
    this.#isBasing = true;
    try {
      // Topics that are reported in this turn of the event loop share a command.
      await Promise.resolve();
      while (this.#unbased.size > 0) {
        const units = new Map<string, ReplicatedTopic[]>();
        for (const topic of this.#unbased) {
          const { name } = topic.ownershipUnit;
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
    const toConfirm = topics.flatMap((topic) => {
      const known = topic.current;
      return known === undefined ? [] : [{ topic, known }];
    });
    const [first] = toConfirm;
    if (first === undefined) return;
    try {
      const confirmed = toConfirm.map(({ topic, known }) => ({ ...known, topic: topic.key }));
      const others = new Set(await this.#command(() => records.confirm(confirmed, lease)));
      metrics.backplaneWritten("confirm", toConfirm.length - others.size);
      for (const { topic, known } of toConfirm)
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
      // The command failed for all topics alike: one log line is enough.
      this.#fail(first.topic, error);
    }
  }

  async #write(topic: ReplicatedTopic): Promise<void> {
    const { keeper } = this.#options;
    try {
      for (let attempt = 0; topic.isDirty && attempt < maxAttempts;) {
        const lease = keeper.held(topic.ownershipUnit.name);
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

  /** Reads the record in Redis, which decides the position of the present state in the history. */
  async #read(topic: ReplicatedTopic, fence: number): Promise<void> {
    try {
      const stored = await this.#command(() => this.#options.records.read(topic.key));
      if (stored === undefined) topic.anchor(fence);
      else topic.rebase(stored);
    } catch (error) {
      if (!(error instanceof BackplaneError) || !error.code.startsWith("RECORD_")) throw error;
      // A record that can't be used is overwritten.
      topic.anchor(fence);
    }
    topic.basedOn = fence;
  }

  /** False if Redis holds a newer record. */
  async #writeOnce(topic: ReplicatedTopic, known: Known): Promise<boolean> {
    const { records, keeper, metrics } = this.#options;
    const lease = keeper.held(topic.ownershipUnit.name);
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
    metrics.backplaneWriteFailed(code.toLowerCase());
    topic.basedOn = undefined;
    if (code === "FENCED") onFenced(topic.ownershipUnit.name);
    else onFailed(topic, error as Error);
  }
}
