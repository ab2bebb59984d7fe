import type { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { cpuTime } from "../support/processor.js";
import { askingFor, podSpec } from "./filled-cluster.js";

export const ways = ["none", "webhook", "policy"] as const;
/** Who gives Pods of a namespace their sidecar. */
export type Way = (typeof ways)[number];

export interface AdmissionInput {
  readonly cluster: Cluster;
  /** In which the same Pod goes each way. */
  readonly namespaces: Readonly<Record<Way, string>>;
  readonly source: string;
  readonly rounds: number;
  readonly warmUp: number;
  readonly progress: (line: string) => void;
}

export interface AdmissionTimes {
  /** Milliseconds of each creation. */
  readonly times: Readonly<Record<Way, readonly number[]>>;
  /** Processor time of the API server for a creation, in ms, with what it does beside it; the mean. */
  readonly processorMs: Readonly<Record<Way, number>>;
}

/**
 * Creates Pods, and takes the time. The ways take turns, in another order each round, so that what else the machine does falls on all of
 * them. Dry runs: all of admission, and no write to etcd, whose times would hide it.
 *
 * @throws Error if a Pod did not go its way.
 */
export async function admissionTimes(input: AdmissionInput): Promise<AdmissionTimes> {
  const { namespaces, rounds, warmUp, progress } = input;
  const times: Record<Way, number[]> = { none: [], webhook: [], policy: [] };
  const processorMs: Record<Way, number> = { none: 0, webhook: 0, policy: 0 };
  const apiServer = input.cluster.pidOf("kube-apiserver");
  for (let round = 1; round <= warmUp + rounds; round++) {
    for (const way of inTurn(round)) {
      const { busyMs } = cpuTime(apiServer);
      const startMs = performance.now();
      const went = await create(input.cluster, namespaces[way], input.source);
      const tookMs = Math.round((performance.now() - startMs) * 1_000) / 1_000;
      if (went !== way) throw new Error(`a Pod of ${namespaces[way]} went by ${went}, not by ${way}`);
      if (round <= warmUp) continue;
      times[way].push(tookMs);
      processorMs[way] += (cpuTime(apiServer).busyMs - busyMs) / rounds;
    }
    if (round > warmUp && (round - warmUp) % 500 === 0) progress(`${round - warmUp} of ${rounds} rounds`);
  }
  return { times, processorMs };
}

/** Creates a Pod in a dry run, and says who gave it its sidecar. */
export async function create(cluster: Cluster, namespace: string, source: string): Promise<string> {
  const { metadata } = await cluster.api.create(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
    metadata: { name: "app", annotations: askingFor(source) },
    spec: podSpec,
  });
  const { annotations } = metadata as { readonly annotations?: Readonly<Record<string, string>> };
  return annotations?.["bunting.dev/injected"]?.split(" ", 1).join() ?? "none";
}

/** Each order once in six rounds, so that none always comes after the same other one. */
function inTurn(round: number): readonly Way[] {
  const first = round % ways.length;
  const rotated = [...ways.slice(first), ...ways.slice(0, first)];
  return round % 2 === 0 ? rotated : rotated.reverse();
}
