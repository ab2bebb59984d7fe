import { setTimeout as delay } from "node:timers/promises";
import { assertFilesSuffice } from "../fan-out/fan-out-case.js";
import type { Arrival } from "../load/swarm.js";
import type { SwarmHandlers } from "../load/swarm.child.js";
import { bundle } from "../support/bundle.js";
import { ChildProcess } from "../support/child-process.js";
import { monotonicMs } from "../support/monotonic.js";
import { processMemory } from "../support/processor.js";
import { redisCost, type RedisCost } from "./redis-cost.js";
import { benchName, benchNamespace, type ReplicaStand } from "./replica-stand.js";

/** When one edit reached the subscribers of one replica, in ms after just before its write. */
export type CrowdSample = Pick<Arrival, "firstMs" | "p50Ms" | "p99Ms" | "lastMs">;

/** Edits with many subscribers at each replica. */
export interface Crowd {
  readonly owner: readonly CrowdSample[];
  readonly followers: readonly CrowdSample[];
  readonly cost: RedisCost;
  /** RSS of the largest replica. */
  readonly megabytes: number;
  readonly warnings: readonly string[];
}

const connectTimeoutMs = 180_000;
const restMs = 500;

export async function crowd(
  stand: ReplicaStand,
  sizes: { readonly subscribers: number; readonly rounds: number; readonly costEdits: number },
  nextSequence: () => number,
): Promise<Crowd> {
  assertFilesSuffice(sizes.subscribers);
  const warnings: string[] = [];
  const script = await bundle("load/swarm.child.ts", "proxy");
  const swarms = stand.replicas.map(
    (_, index) =>
      new ChildProcess<SwarmHandlers>({ name: `subscribers ${index + 1}`, script, core: undefined }),
  );
  const edit = async (): Promise<CrowdSample[]> => {
    const sequence = nextSequence();
    await Promise.all(swarms.map((swarm) => swarm.call("expect", { sequence })));
    const startMs = monotonicMs();
    await stand.put(sequence);
    const arrivals = await Promise.all(swarms.map((swarm) => swarm.call("arrival", undefined as never)));
    return arrivals.map(({ firstMs, p50Ms, p99Ms, lastMs }) => ({
      firstMs: firstMs - startMs,
      p50Ms: p50Ms - startMs,
      p99Ms: p99Ms - startMs,
      lastMs: lastMs - startMs,
    }));
  };
  try {
    for (const [index, { port }] of stand.replicas.entries()) {
      const options = {
        host: "127.0.0.1",
        port,
        protocol: "bunting",
        topic: `${benchNamespace}/${benchName}`,
        connections: sizes.subscribers,
        streams: 1,
      } as const;
      const connected = await swarms[index]?.call("connect", options, connectTimeoutMs);
      if ((connected?.refused ?? 0) > 0)
        warnings.push(`${connected?.refused} connections were refused: ${connected?.refusal}`);
    }
    const ownerIndex = stand.replicas.indexOf(await stand.owner());
    const samples: CrowdSample[][] = [];
    for (let round = 0; round < sizes.rounds; round++) {
      samples.push(await edit());
      await delay(restMs);
    }
    const cost = await redisCost(stand, Math.min(10, sizes.costEdits), edit);
    return {
      owner: samples.flatMap((round) => round.filter((_, index) => index === ownerIndex)),
      followers: samples.flatMap((round) => round.filter((_, index) => index !== ownerIndex)),
      cost,
      megabytes: Math.max(...stand.replicas.map(({ pid }) => processMemory(pid).rssMb)),
      warnings,
    };
  } finally {
    await Promise.all(swarms.map((swarm) => swarm.stop()));
  }
}
