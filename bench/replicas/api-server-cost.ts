import { setTimeout as delay } from "node:timers/promises";
import { firstSequence } from "../fixtures/sequenced-document.js";
import { Observer } from "./observer.js";
import type { ReplicaStand } from "./replica-stand.js";

/** What so many replicas with all FeatureFlags subscribed to at each cost the API server. */
export interface ApiServerCost {
  readonly replicas: number;
  readonly isShared: boolean;
  /** When nothing changed any more. */
  readonly watches: number;
  /** At once, while the replicas started. */
  readonly mostWatches: number;
  /** Its heap after a garbage collection and its stacks, beyond what they are without replicas. */
  readonly megabytes: number;
}

const settleMs = 3_000;
const unchangedMs = 6_000;
const maxUnsettledMs = 90_000;
const lookEveryMs = 200;

export async function apiServerCost(
  stand: ReplicaStand,
  input: { readonly replicas: number; readonly isShared: boolean; readonly flags: number },
): Promise<ApiServerCost> {
  const { replicas, isShared, flags } = input;
  const names = Array.from({ length: flags }, (_, index) => `flags-${index}`);
  await stand.removeAll();
  await delay(settleMs);
  const before = await usedMb(stand);
  const backplane = isShared ? ["--backplane", stand.redis.address] : [];
  await stand.startReplicas(replicas, ["--watch-scope=object", ...backplane]);
  const observers = stand.replicas.flatMap(({ port }) => names.map((name) => new Observer(port, name)));
  try {
    await Promise.all(observers.map((observer) => observer.has(firstSequence)));
    const { watches, most } = await settled(stand);
    return { replicas, isShared, watches, mostWatches: most, megabytes: (await usedMb(stand)) - before };
  } finally {
    for (const observer of observers) observer.close();
    await stand.removeAll();
  }
}

/** Waits until no watch was opened or closed for a while: replicas that start at once may watch for themselves until one of them owns. */
async function settled(stand: ReplicaStand): Promise<{ readonly watches: number; readonly most: number }> {
  const until = performance.now() + maxUnsettledMs;
  let [watches, most, sinceMs] = [stand.watches, stand.watches, performance.now()];
  while (performance.now() - sinceMs < unchangedMs && performance.now() < until) {
    await delay(lookEveryMs);
    const now = stand.watches;
    most = Math.max(most, now);
    if (now !== watches) [watches, sinceMs] = [now, performance.now()];
  }
  return { watches, most };
}

/** Go's profiler collects garbage first when it is asked to. */
async function usedMb({ cluster }: ReplicaStand): Promise<number> {
  await cluster.api.request("GET", "/debug/pprof/heap?gc=1");
  const { text } = await cluster.api.request("GET", "/metrics", { accept: "*/*" });
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return (value("go_memstats_heap_alloc_bytes") + value("go_memstats_stack_inuse_bytes")) / 1e6;
}
