import { BackplaneError, type LeaseKeeper, type Records } from "@bunting/backplane";
import { errorCode, WorkQueue, type Context, type Runnable } from "@bunting/runtime";
import type { BackplaneMetrics } from "./backplane-metrics.js";
import { storedRecordOf, type Known } from "./known.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

export interface RecordWriterOptions {
  readonly records: Pick<Records, "write" | "confirm" | "read">;
  readonly keeper: Pick<LeaseKeeper, "held">;
  readonly context: Pick<
    Context<Pick<BackplaneMetrics, "backplaneWritten" | "backplaneWriteFailed">>,
    "clock" | "metrics"
  >;
  /** Redis says that the lease has ended. */
  readonly onFenced: () => void;
  readonly onFailed: (topic: ReplicatedTopic, error: Error) => void;
}

/** Limit of concurrent writes: of thousands at once, as after a take-over, the last ones would time out, which ends the connection. */
const writesAtOnce = 64;
/** Backoff of a topic of which Redis held a newer version: its record is read, then written again. */
const olderRetry = { firstMs: 5, capMs: 5_000 };

/**
 * Writes the records of topics while this replica is the owner. A topic has one command under way at a time, and one more follows if the
 * topic changes meanwhile: Redis gets the newest state, in order, and nothing queues. A write that Redis refuses because it holds
 * a newer version is repeated after a backoff; any other that fails, by the next reconciliation.
 */
export class RecordWriter implements Runnable {
  readonly name = "records";
  readonly #options: RecordWriterOptions;
  /** Topics whose record in Redis is to be compared with their state: after a take-over, and to confirm it again. */
  readonly #toCompare = new Set<ReplicatedTopic>();
  /** Compares all such topics in few large commands, because a take-over brings thousands. */
  readonly #comparisons: WorkQueue<"topics">;
  readonly #writes: WorkQueue<ReplicatedTopic>;
  /** Topics whose state is on its way to Redis. */
  readonly #unsettled = new Set<ReplicatedTopic>();
  /** One for each call of `settled` that still waits. */
  readonly #settlings = new Set<Settling>();
  #isRunning = false;

  constructor(options: RecordWriterOptions) {
    const { clock } = options.context;
    this.#options = options;
    this.#comparisons = new WorkQueue({
      name: "comparisons",
      work: () => this.#compare(),
      clock,
    });
    this.#writes = new WorkQueue({
      name: "writes",
      work: (topic) => this.#step(topic),
      concurrency: writesAtOnce,
      backoff: olderRetry,
      clock,
    });
  }

  /** Writes until the signal aborts. Reports that come before wait for this call. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    await Promise.all([this.#comparisons.run(signal), this.#writes.run(signal)]);
    this.#isRunning = false;
    for (const settling of this.#settlings) settling.giveUp();
  }

  /** The state of the topic has changed, or is to be announced again. */
  changed(topic: ReplicatedTopic): void {
    const lease = this.#options.keeper.held;
    if (lease === undefined || topic.current === undefined) return;
    if (topic.basedOn === lease.fence) this.#queueWrite(topic);
    else this.#queueComparison(topic);
  }

  /** Confirms the records of topics in Redis, and writes those that Redis does not hold. */
  confirm(topics: Iterable<ReplicatedTopic>): void {
    for (const topic of topics)
      if (topic.current !== undefined && !this.#writes.has(topic)) this.#queueComparison(topic);
  }

  /**
   * Resolves once the states of the time of this call have been written, or could not be. Later changes are not waited
   * for: with a slow Redis and many edits there is always one more. Never rejects.
   */
  async settled(): Promise<void> {
    if (!this.#isRunning) return;
    const settling = new Settling(this.#unsettled);
    this.#settlings.add(settling);
    await settling.over;
    this.#settlings.delete(settling);
  }

  /** The command for this state of the topic has ended, and no other follows for it. */
  #ended(topic: ReplicatedTopic, known = topic.current): void {
    if (topic.current === known) this.#unsettled.delete(topic);
    for (const settling of this.#settlings) settling.ended(topic, known);
  }

  #queueWrite(topic: ReplicatedTopic): void {
    this.#unsettled.add(topic);
    this.#writes.add(topic);
  }

  #queueComparison(topic: ReplicatedTopic): void {
    this.#unsettled.add(topic);
    this.#toCompare.add(topic);
    this.#comparisons.add("topics");
  }

  async #compare(): Promise<undefined> {
    const { records, keeper, context } = this.#options;
    const topics = [...this.#toCompare];
    this.#toCompare.clear();
    const lease = keeper.held;
    const toConfirm = topics.flatMap((topic) => {
      const known = topic.current;
      if (known !== undefined && lease !== undefined) return [{ topic, known }];
      this.#ended(topic);
      return [];
    });
    const [first] = toConfirm;
    if (first === undefined || lease === undefined) return;
    try {
      const confirmed = toConfirm.map(({ topic, known }) => ({ ...known, topic: topic.key }));
      const differing = new Set(await records.confirm(confirmed, lease));
      context.metrics.backplaneWritten("confirm", toConfirm.length - differing.size);
      // The lease may have ended meanwhile: then nothing follows.
      const mayWrite = keeper.held !== undefined;
      for (const { topic, known } of toConfirm)
        if (!differing.has(topic.key)) {
          topic.basedOn = lease.fence;
          const isDue = topic.current !== undefined && (topic.isAsked || topic.current !== known);
          if (mayWrite && isDue) this.changed(topic);
          else this.#ended(topic);
        } else if (!this.#writes.has(topic)) {
          topic.basedOn = undefined;
          this.#queueWrite(topic);
        }
    } catch (error) {
      // The command failed for all topics alike: one log line is enough.
      for (const { topic } of toConfirm) this.#ended(topic);
      this.#fail(first.topic, error);
    }
  }

  /** Sends one command: a read if it is not known what Redis holds, else a write. Rejects if Redis holds a newer record, so that the queue backs off. */
  async #step(topic: ReplicatedTopic): Promise<undefined> {
    const { records, keeper, context } = this.#options;
    const lease = keeper.held;
    const known = topic.current;
    if (lease === undefined || known === undefined) {
      this.#ended(topic);
      return;
    }
    for (const settling of this.#settlings) settling.begun(topic, known);
    try {
      if (topic.basedOn !== lease.fence) {
        await this.#read(topic, lease.fence);
        this.#writes.add(topic);
        return;
      }
      await records.write(storedRecordOf(topic.key, known), lease);
      topic.isAsked = false;
      context.metrics.backplaneWritten("write", 1);
      this.#ended(topic, known);
    } catch (error) {
      topic.basedOn = undefined;
      this.#ended(topic, known);
      if (errorCode(error) === "VERSION_OLDER") throw error;
      this.#fail(topic, error);
    }
  }

  /** Reads the record in Redis, which decides the position of the present state in the history. */
  async #read(topic: ReplicatedTopic, fence: number): Promise<void> {
    try {
      const stored = await this.#options.records.read(topic.key);
      if (stored === undefined) topic.anchor(fence);
      else topic.rebase(stored, fence);
    } catch (error) {
      if (!(error instanceof BackplaneError) || !error.code.startsWith("RECORD_")) throw error;
      // A record that can't be used is overwritten.
      topic.anchor(fence);
    }
    topic.basedOn = fence;
  }

  #fail(topic: ReplicatedTopic, error: unknown): void {
    const { context, onFenced, onFailed } = this.#options;
    const code = errorCode(error) ?? "INTERNAL";
    context.metrics.backplaneWriteFailed(code.toLowerCase());
    topic.basedOn = undefined;
    if (code === "FENCED") onFenced();
    else onFailed(topic, error as Error);
  }
}

type State = Known | undefined;

/** Waits for the states that topics have at its construction, or later ones: each has to be written, or fail to be. */
class Settling {
  /** Resolves when no topic is left. */
  readonly over: Promise<void>;
  /** With the state that is waited for. */
  readonly #left: Map<ReplicatedTopic, State>;
  #resolve: () => void = () => undefined;

  constructor(topics: Iterable<ReplicatedTopic>) {
    this.#left = new Map([...topics].map((topic) => [topic, topic.current]));
    this.over = new Promise((resolve) => (this.#resolve = resolve));
    this.#look();
  }

  /** A command for the state is sent. What changes from now on is not waited for, or there would be always one more. */
  begun(topic: ReplicatedTopic, state: State): void {
    if (this.#left.has(topic)) this.#left.set(topic, state);
  }

  /** The last command for the state has ended. */
  ended(topic: ReplicatedTopic, state: State): void {
    if (state === topic.current || state === this.#left.get(topic)) this.#left.delete(topic);
    this.#look();
  }

  /** Nothing is written any more. */
  giveUp(): void {
    this.#left.clear();
    this.#look();
  }

  #look(): void {
    if (this.#left.size === 0) this.#resolve();
  }
}
