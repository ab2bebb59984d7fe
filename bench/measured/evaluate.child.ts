import { Evaluator } from "@bunting/evaluation";
import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { encodeDocument, type JsonObject } from "@bunting/protocol";
import { createLogger, systemClock } from "@bunting/runtime";
import { makeFlagSet, type FlagKind } from "../fixtures/flag-set.js";
import { Random } from "../fixtures/random.js";
import { randomContext } from "../fixtures/targeting-rules.js";
import { serveCalls } from "../support/child-protocol.js";
import { cpuTime } from "../support/processor.js";

/** Measures the evaluator alone, in its own process. */

export interface EvaluateSamples {
  /** Time of one evaluation: the mean of each round. */
  readonly nanoseconds: readonly number[];
  /** For how much of the measured time other processes used the core. */
  readonly waitShare: number;
  /** How often each reason occurred, which shows that the rules were measured. */
  readonly reasons: Readonly<Record<string, number>>;
}

const contextCount = 1_024;
const evaluator = new Evaluator({ clock: systemClock });
let keysByKind: Readonly<Record<FlagKind, readonly string[]>> | undefined;
const contexts: JsonObject[] = [];

function load({ flags }: { flags: number }): void {
  const random = new Random(11);
  for (let index = 0; index < contextCount; index++) contexts.push(randomContext(random));
  const flagSet = makeFlagSet(flags);
  keysByKind = flagSet.keysByKind;
  const store = new FlagStore({
    sources: [{ uri: "bench:8015" }],
    budget: new HeapBudget(),
    context: { logger: createLogger({ format: "json", debug: false }), metrics: noStoreMetrics },
  });
  store.onChange((change) => evaluator.apply(change));
  store.replace(0, Buffer.from(encodeDocument(flagSet.document)));
}

/** All kinds in turns, so that the code is optimised for the mix in an agent, and not for one kind after the other. */
function warmUp({ kinds, evaluations }: { kinds: readonly FlagKind[]; evaluations: number }): void {
  const turns = 20;
  for (let turn = 0; turn < turns; turn++) {
    for (const kind of kinds) evaluateMany(keysOf(kind), Math.ceil(evaluations / turns / kinds.length));
  }
}

function measure({
  kind,
  rounds,
  evaluations,
}: {
  kind: FlagKind;
  rounds: number;
  evaluations: number;
}): EvaluateSamples {
  const keys = keysOf(kind);
  const nanoseconds: number[] = [];
  const before = cpuTime(process.pid);
  const startedMs = performance.now();
  for (let round = 0; round < rounds; round++) {
    const roundMs = performance.now();
    evaluateMany(keys, evaluations);
    nanoseconds.push(((performance.now() - roundMs) * 1e6) / evaluations);
  }
  const waitedMs = cpuTime(process.pid).waitedMs - before.waitedMs;
  return { nanoseconds, waitShare: waitedMs / (performance.now() - startedMs), reasons: reasonsOf(keys) };
}

/** Every evaluation adds to it, so that none is optimised away as unused. */
let used = 0;

function evaluateMany(keys: readonly string[], evaluations: number): void {
  let keyIndex = 0;
  for (let index = 0; index < evaluations; index++) {
    const key = keys[keyIndex];
    const context = contexts[index & (contextCount - 1)];
    if (key === undefined || context === undefined) throw new Error("there is nothing to evaluate");
    if (++keyIndex === keys.length) keyIndex = 0;
    used += evaluator.resolve(key, context).reason.length;
  }
}

function reasonsOf(keys: readonly string[]): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const key of keys) {
    for (const context of contexts) {
      const { reason, errorCode } = evaluator.resolve(key, context);
      if (errorCode !== undefined) throw new Error(`${key} answers ${errorCode}`);
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
  }
  return reasons;
}

function keysOf(kind: FlagKind): readonly string[] {
  const keys = keysByKind?.[kind];
  if (keys === undefined) throw new Error("nothing was loaded");
  return keys;
}

const handlers = { load, warmUp, measure, used: (): number => used };
serveCalls(handlers);
export type EvaluateHandlers = typeof handlers;
