import type { Interest } from "@bunting/backplane";
import { sleep, type Clock } from "@bunting/runtime";
import type { RecordWriter } from "./record-writer.js";
import type { OwnershipLeases } from "./ownership-leases.js";
import type { OwnershipUnits } from "./ownership-units.js";

export interface ReconciliationOptions {
  readonly units: OwnershipUnits;
  readonly interest: Pick<Interest, "mention">;
  readonly ownershipLeases: Pick<OwnershipLeases, "learnInterest">;
  readonly writer: Pick<RecordWriter, "confirm">;
  readonly compareMs: number;
  readonly clock: Clock;
}

/**
 * Walks through all ownership units at intervals: mentions the topics that have subscribers here, and for owned units
 * learns what other replicas want and confirms the records.
 */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  #isOver = false;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, compareMs } = this.#options;
    // A walk through hundreds of namespaces, with commands for each, would take longer than the process has to end.
    signal.addEventListener("abort", () => (this.#isOver = true), { once: true });
    while (!signal.aborted) {
      // Jitter: replicas that started together would otherwise walk together.
      await sleep(compareMs * (0.75 + 0.25 * Math.random()), signal, clock);
      await this.reconcile();
    }
  }

  /** One walk. Never rejects: what fails without Redis is repeated by the next one. */
  async reconcile(): Promise<void> {
    const { units, interest, ownershipLeases, writer } = this.#options;
    for (const unit of units) {
      if (this.#isOver) return;
      const wanted = [...unit.topics.values()].filter(({ hasSubscribers }) => hasSubscribers);
      const keys = wanted.map(({ key }) => key);
      if (keys.length > 0) await interest.mention(unit.name, keys).catch(() => undefined);
      if (!unit.isOwned) continue;
      await ownershipLeases.learnInterest(unit);
      writer.confirm(unit);
    }
  }
}
