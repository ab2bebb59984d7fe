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

/** Goes through all units from time to time: mentions what is wanted here, and confirms what this replica owns. */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  #isOver = false;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, compareMs } = this.#options;
    // A round through hundreds of namespaces, each of which Redis is asked about, takes longer than there is time for at the end.
    signal.addEventListener("abort", () => (this.#isOver = true), { once: true });
    while (!signal.aborted) {
      // Replicas that started together would go together.
      await sleep(compareMs * (0.75 + 0.25 * Math.random()), signal, clock);
      await this.reconcile();
    }
  }

  /** One round. Never rejects: without Redis there is nobody to tell, and the next round repeats what matters. */
  async reconcile(): Promise<void> {
    const { units, interest, ownershipLeases, writer } = this.#options;
    for (const unit of units) {
      if (this.#isOver) return;
      const wanted = [...unit.topics.values()].filter(({ hasSubscribers }) => hasSubscribers);
      const keys = wanted.map(({ key }) => key);
      if (keys.length > 0) await interest.mention(unit.name, keys).catch(() => undefined);
      if (!unit.isOwned) continue;
      await ownershipLeases.learnInterest(unit);
      await writer.confirm(unit);
    }
  }
}
