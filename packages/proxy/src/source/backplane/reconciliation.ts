import type { Interest } from "@bunting/backplane";
import { sleep, type Clock } from "@bunting/runtime";
import type { Ownership } from "./ownership.js";
import type { RecordWriter } from "./record-writer.js";
import type { TopicTable } from "./topic-table.js";

export interface ReconciliationOptions {
  readonly topics: TopicTable;
  readonly interest: Pick<Interest, "mention">;
  readonly ownership: Pick<Ownership, "lease" | "learnInterest">;
  readonly writer: Pick<RecordWriter, "confirm">;
  readonly compareMs: number;
  readonly clock: Clock;
}

/**
 * Mentions at intervals the topics that have subscribers here; the owner then learns what other replicas want, and
 * confirms the records.
 */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  #isDue = false;
  #isUnderWay = false;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, compareMs } = this.#options;
    while (!signal.aborted) {
      // Jitter: replicas that started together would otherwise reconcile together.
      await sleep(compareMs * (0.75 + 0.25 * Math.random()), signal, clock);
      // Not awaited: with thousands of topics and a slow Redis it may take longer than the process has to end.
      void this.reconcile();
    }
  }

  /** Reconciles, once more if it is under way. Never rejects: what fails without Redis is repeated the next time. */
  async reconcile(): Promise<void> {
    this.#isDue = true;
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#step();
    }
    this.#isUnderWay = false;
  }

  async #step(): Promise<void> {
    const { topics, interest, ownership, writer } = this.#options;
    const wanted = [...topics].filter(({ hasSubscribers }) => hasSubscribers).map(({ key }) => key);
    if (wanted.length > 0) await interest.mention(wanted).catch(() => undefined);
    if (ownership.lease === undefined) return;
    await ownership.learnInterest();
    writer.confirm(topics);
  }
}
