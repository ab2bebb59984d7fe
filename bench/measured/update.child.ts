import { Evaluator } from "@bunting/evaluation";
import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { encodeDocument } from "@bunting/protocol";
import { createLogger, systemClock } from "@bunting/runtime";
import { makeFlagSet } from "../fixtures/flag-set.js";
import { serveCalls } from "../support/child-protocol.js";
import { cpuTime } from "../support/processor.js";

/** Measures the store with the evaluator behind it, in its own process. */

export interface UpdateSamples {
  readonly firstMs: number;
  readonly updateMs: readonly number[];
  /** For how much of the measured time other processes used the core. */
  readonly waitShare: number;
}

export interface UpdateInput {
  readonly flags: number;
  readonly edit: "one-flag" | "every-flag";
  readonly rounds: number;
}

const warmUps = 3;

async function measure({ flags, edit, rounds }: UpdateInput): Promise<UpdateSamples> {
  const store = new FlagStore({
    sources: [{ uri: "bench:8015" }],
    budget: new HeapBudget(),
    context: { logger: createLogger({ format: "json", debug: false }), metrics: noStoreMetrics },
  });
  const evaluator = new Evaluator({ clock: systemClock });
  store.onChange((change) => evaluator.apply(change));
  const { keys, bytes: first } = firstDocument(flags);
  let bytes = first;
  const firstMs = timed(store, bytes, flags);
  const updateMs: number[] = [];
  let waitedMs = 0;
  for (let round = 1; round <= rounds + warmUps; round++) {
    bytes =
      edit === "every-flag"
        ? editEvery(bytes, round)
        : editOne(bytes, keys[(round * 7919) % keys.length], round);
    await new Promise(setImmediate);
    const before = cpuTime(process.pid);
    const tookMs = timed(store, bytes, edit === "one-flag" ? 1 : flags);
    if (round <= warmUps) continue;
    waitedMs += cpuTime(process.pid).waitedMs - before.waitedMs;
    updateMs.push(tookMs);
  }
  return { firstMs, updateMs, waitShare: waitedMs / updateMs.reduce((sum, each) => sum + each, 0) };
}

/** Only bytes and keys are kept, because an agent does not hold the document's objects. */
function firstDocument(flags: number): { keys: string[]; bytes: Buffer } {
  const { document } = makeFlagSet(flags);
  return { keys: Object.keys(document.flags), bytes: Buffer.from(encodeDocument(document)) };
}

function timed(store: FlagStore, bytes: Buffer, expectedChanges: number): number {
  const startedMs = performance.now();
  const result = store.replace(0, bytes);
  const tookMs = performance.now() - startedMs;
  if (result.upserted.length !== expectedChanges || result.rejectedFlags.length > 0) {
    throw new Error(`${expectedChanges} flags changed, and the store saw ${result.upserted.length} of them`);
  }
  return tookMs;
}

const created = '"created":"';

/** Changes one flag's creation date to one of another length, so that everything after it moves. */
function editOne(bytes: Buffer, key: string | undefined, round: number): Buffer {
  const from = bytes.indexOf(created, bytes.indexOf(`${JSON.stringify(key)}:{`)) + created.length;
  return Buffer.concat([
    bytes.subarray(0, from),
    Buffer.from(`round-${round}`),
    bytes.subarray(bytes.indexOf('"', from)),
  ]);
}

function editEvery(bytes: Buffer, round: number): Buffer {
  return Buffer.from(bytes.toString().replaceAll(/"created":"[^"]*"/g, `"created":"round-${round}"`));
}

const handlers = { measure };
serveCalls(handlers);
export type UpdateHandlers = typeof handlers;
