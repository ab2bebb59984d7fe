import { apiServerCost, type ApiServerCost } from "./replicas/api-server-cost.js";
import { crowd, type Crowd } from "./replicas/crowd.js";
import { editTimes, type EditTimes } from "./replicas/edit-times.js";
import { redisCost, type RedisCost } from "./replicas/redis-cost.js";
import { ReplicaStand } from "./replicas/replica-stand.js";
import { takeOver } from "./replicas/take-over.js";
import { firstSequence } from "./fixtures/sequenced-document.js";
import type { BenchCase, CaseOutcome, ResultTable, RunOptions } from "./support/bench-case.js";
import { Observer } from "./replicas/observer.js";
import { machineryFolder } from "./support/cluster-proxy.js";
import { bytesText, digits, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { unpinSelf } from "./support/processor.js";
import { median, percentile, spread } from "./support/statistics.js";
import { untilQuiet } from "./support/wait.js";

const counts = [1, 3, 9] as const;

export const replicasCase: BenchCase = {
  name: "replicas",
  method:
    "A real kube-apiserver and etcd, a real Redis, and replicas of the shipped proxy with --backplane, one of which owns the FeatureFlag of 10 KB that is edited. " +
    "Each edit is timed from just before its write is sent until a subscriber of the owner and one of each follower have it; all are in the process that writes, and the next edit is made when all have this one. " +
    "What Redis does for an edit is counted with 1, 3 and 9 replicas, and with 3 replicas that have many subscribers each. Then the owner is killed, or stopped as by a rolling update, while an edit is made each 50 ms. " +
    "At last, all replicas watch many FeatureFlags, one watch for each, with a backplane and without.",
  run: runReplicas,
};

interface Sizes {
  readonly edits: number;
  readonly subscribers: number;
  readonly rounds: number;
  readonly departures: number;
  readonly flags: number;
  readonly costEdits: number;
}

interface Measured {
  readonly times: EditTimes;
  readonly costs: readonly { readonly who: string; readonly cost: RedisCost }[];
  readonly crowd: Crowd;
  readonly killedMs: readonly number[];
  readonly stoppedMs: readonly number[];
  readonly apiServer: readonly ApiServerCost[];
}

async function runReplicas({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const sizes: Sizes = {
    edits: countParameter(parameters, "edits", isQuick ? 20 : 1_000),
    subscribers: countParameter(parameters, "subscribers", isQuick ? 100 : 10_000),
    rounds: countParameter(parameters, "rounds", isQuick ? 2 : 15),
    departures: countParameter(parameters, "departures", isQuick ? 1 : 5),
    flags: countParameter(parameters, "flags", isQuick ? 10 : 200),
    costEdits: isQuick ? 4 : 40,
  };
  process.env["BUNTING_CLUSTER_BIN"] ??= machineryFolder();
  unpinSelf();
  progress("starts a control plane and a Redis");
  const stand = await ReplicaStand.start();
  try {
    return outcome(sizes, await measure(stand, sizes, progress));
  } finally {
    await stand.stop();
  }
}

async function measure(
  stand: ReplicaStand,
  sizes: Sizes,
  progress: (line: string) => void,
): Promise<Measured> {
  let sequence = firstSequence;
  const nextSequence = (): number => ++sequence;
  await stand.put(sequence);
  const costs: { who: string; cost: RedisCost }[] = [];
  for (const count of counts) {
    progress(`counts what ${count} replicas ask of Redis`);
    await stand.startReplicas(count);
    const observers = stand.replicas.map(({ port }) => new Observer(port));
    await Promise.all(observers.map((observer) => observer.has(sequence)));
    await stand.owner();
    const cost = await redisCost(stand, sizes.costEdits, () => {
      const next = nextSequence();
      return Promise.all([stand.put(next), ...observers.map((observer) => observer.has(next))]);
    });
    costs.push({ who: `${count} ${count === 1 ? "replica" : "replicas"}, a subscriber each`, cost });
    for (const observer of observers) observer.close();
    await stand.removeAll();
  }
  await stand.startReplicas(3);
  const first = stand.replicas.map(({ port }) => new Observer(port));
  await Promise.all(first.map((observer) => observer.has(sequence)));
  await untilQuiet(10_000);
  progress(`times ${sizes.edits} edits`);
  const times = await editTimes(stand, sizes.edits, nextSequence);
  const killedMs: number[] = [];
  const stoppedMs: number[] = [];
  for (let round = 1; round <= sizes.departures; round++) {
    progress(`takes the owner away (${round} of ${sizes.departures})`);
    killedMs.push(await takeOver(stand, "SIGKILL", nextSequence));
    stoppedMs.push(await takeOver(stand, "SIGTERM", nextSequence));
  }
  for (const observer of first) observer.close();
  progress(`connects 3 × ${sizes.subscribers}`);
  const crowded = await crowd(stand, sizes, nextSequence);
  const many = `3 replicas, ${sizes.subscribers.toLocaleString("en")} subscribers each`;
  costs.push({ who: many, cost: crowded.cost });
  await stand.removeAll();
  for (let index = 0; index < sizes.flags; index++) await stand.put(firstSequence, `flags-${index}`);
  const apiServer: ApiServerCost[] = [];
  // The first one also fills what the API server keeps for later.
  await apiServerCost(stand, { replicas: 1, isShared: false, flags: sizes.flags });
  for (const isShared of [true, false])
    for (const replicas of counts) {
      progress(`watches with ${replicas} replicas ${isShared ? "and" : "without"} a backplane`);
      apiServer.push(await apiServerCost(stand, { replicas, isShared, flags: sizes.flags }));
    }
  return { times, costs, crowd: crowded, killedMs, stoppedMs, apiServer };
}

function outcome(sizes: Sizes, measured: Measured): CaseOutcome {
  const { times, crowd: crowded } = measured;
  const [owner, follower] = [sorted(times.owner), sorted(times.follower)];
  const behind = (share: number): number => percentile(follower, share) - percentile(owner, share);
  const shared = measured.apiServer.filter(({ isShared }) => isShared);
  const [least, most] = [shared[0], shared.at(-1)];
  return {
    setup: [
      `${sizes.edits.toLocaleString("en")} edits of a FeatureFlag of 10 KB; ${sizes.flags} FeatureFlags of 10 KB for the API server's memory`,
      "nothing pinned: API server, etcd, Redis, all replicas and all subscribers share the cores",
    ],
    tables: [
      timesTable(owner, follower),
      crowdTable(crowded, sizes),
      redisTable(measured),
      {
        title: "How long an edit is late at most when its owner goes away",
        columns: ["how", "ms: median (min–max)"],
        rows: [
          ["killed", range(spread(measured.killedMs))],
          ["stopped, as by a rolling update", range(spread(measured.stoppedMs))],
        ],
      },
      apiServerTable(measured),
    ],
    targets: [
      { what: "an edit at a follower after the owner's: p50", limit: 3, measured: behind(0.5), unit: "ms" },
      { what: "the same: p99", limit: 10, measured: behind(0.99), unit: "ms" },
      {
        what: "watches of the API server with 9 replicas to those with one",
        limit: 1,
        measured: (most?.watches ?? NaN) / (least?.watches ?? NaN),
        unit: "×",
      },
    ],
    warnings: crowded.warnings,
    invalid: [],
    samples: measured,
  };
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

function timesTable(owner: readonly number[], follower: readonly number[]): ResultTable {
  const row = (what: string, values: readonly number[]): string[] => [
    what,
    ...[0.5, 0.9, 0.99].map((share) => digits(percentile(values, share))),
  ];
  return {
    title: "From a write to a subscriber, with three replicas",
    columns: ["where", "ms: p50", "p90", "p99"],
    rows: [row("at the owner", owner), row("at the follower that had it last", follower)],
  };
}

function crowdTable({ owner, followers, megabytes }: Crowd, { subscribers }: Sizes): ResultTable {
  const row = (what: string, samples: Crowd["owner"]): string[] => [
    what,
    ...(["firstMs", "p50Ms", "p99Ms", "lastMs"] as const).map((name) =>
      digits(median(samples.map((sample) => sample[name]))),
    ),
  ];
  return {
    title: `The same with ${subscribers.toLocaleString("en")} subscribers at each (the largest replica takes ${megabytes.toFixed(0)} MB)`,
    columns: ["where", "ms, medians of all edits: first", "half of them", "99 %", "last"],
    rows: [row("at the owner", owner), row("at the followers", followers)],
  };
}

function redisTable({ costs }: Measured): ResultTable {
  return {
    title: "What Redis does for one edit of 10 KB",
    columns: ["with", "commands", "received", "sent", "without edits: commands a second"],
    rows: costs.map(({ who, cost }) => [
      who,
      digits(cost.commands),
      bytesText(Math.round(cost.inBytes)),
      bytesText(Math.round(cost.outBytes)),
      digits(cost.idleCommands),
    ]),
  };
}

function apiServerTable({ apiServer }: Measured): ResultTable {
  return {
    title: "What replicas cost the API server",
    columns: [
      "replicas",
      "watches with a backplane (most at the start)",
      "its memory, MB",
      "watches without",
      "its memory without, MB",
    ],
    rows: counts.map((count) => {
      const of = (shared: boolean): string[] => {
        const cost = apiServer.find(({ replicas, isShared }) => replicas === count && isShared === shared);
        const most = shared ? ` (${cost?.mostWatches ?? "–"})` : "";
        return [`${cost?.watches ?? "–"}${most}`, digits(cost?.megabytes ?? NaN)];
      };
      return [String(count), ...of(true), ...of(false)];
    }),
  };
}
