import { broadcast, type BroadcastSample } from "./fan-out/broadcast.js";
import { assertFilesSuffice } from "./fan-out/fan-out-case.js";
import type { EntryName } from "./fan-out/entry.js";
import { warmUpRounds } from "./fan-out/measurements.js";
import { connectSwarm, startPair, stopPair, type Pair } from "./fan-out/pair.js";
import { firstSequence } from "./fixtures/sequenced-document.js";
import type { BenchCase, CaseOutcome, RunOptions, Target } from "./support/bench-case.js";
import { bytesText, digits, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import type { CorePlan } from "./support/processor.js";
import { median, spread } from "./support/statistics.js";
import { untilQuiet } from "./support/wait.js";

/** Servers that have all subscribers together, each an equal share. */
interface Layout {
  readonly name: string;
  readonly entry: EntryName;
  /** One for each process. */
  readonly cores: (plan: CorePlan) => readonly CorePlan[];
}

interface Sample {
  readonly layout: string;
  readonly bytes: number;
  readonly round: number;
  /** From the first rename to the last subscriber of all. */
  readonly tookMs: number;
}

/** On two cores, of which each has a proxy and the subscribers of the other one. */
const crossed = (plan: CorePlan): readonly CorePlan[] => [
  plan,
  { ...plan, measured: plan.load, load: plan.measured },
];
const layouts: readonly Layout[] = [
  { name: "plain node:http2, one process", entry: "plain", cores: (plan) => [plan] },
  { name: "bunting-proxy, one process", entry: "rename", cores: (plan) => [plan] },
  { name: "bunting-proxy, two processes", entry: "rename", cores: crossed },
];
const [plain, , two] = layouts.map(({ name }) => name);
const payloads = [1_000, 10_000, 100_000];

/** flagd-proxy on two cores in relation to the plain server on one, on 2026-11-26, with the subscribers on the same two cores. */
const flagdProxyToPlain = new Map([
  [1_000, 118 / 186],
  [10_000, 143 / 194],
]);

export const processesCase: BenchCase = {
  name: "processes",
  method:
    "The 10,000 subscribers of “10,000 connections” at one shipped proxy, and shared by two, as a Service shares them. Both read one directory each, into which the " +
    "document is renamed at once. One process has a core, and its subscribers the other; of two, each shares a core with the subscribers of the other one, because the machine has two.",
  run: runProcesses,
};

async function runProcesses(options: RunOptions): Promise<CaseOutcome> {
  const { isQuick, parameters, cores, progress } = options;
  const connections = countParameter(parameters, "connections", isQuick ? 200 : 10_000);
  const rounds = countParameter(parameters, "pairs", isQuick ? 2 : 11);
  const patienceMs = isQuick ? 0 : countParameter(parameters, "patience-ms", 10_000);
  assertFilesSuffice(connections);
  const started: { readonly layout: Layout; readonly pairs: readonly Pair[] }[] = [];
  const storms = new Map<string, number>();
  const samples: Sample[] = [];
  try {
    for (const layout of layouts) {
      const pairs = await Promise.all(layout.cores(cores).map((plan) => startPair(layout.entry, plan)));
      started.push({ layout, pairs });
      const counts = { connections: connections / pairs.length, streams: 1 };
      const connected = await Promise.all(pairs.map((pair) => connectSwarm(pair, counts)));
      const refused = connected.find((each) => each.refused > 0);
      if (refused !== undefined) throw new Error(`${layout.name}: refused: ${refused.refusal ?? ""}`);
      storms.set(layout.name, Math.max(...connected.map(({ elapsedMs }) => elapsedMs)));
    }
    let sequence = firstSequence;
    for (const bytes of payloads) {
      for (let round = -warmUpRounds; round < rounds; round++) {
        sequence++;
        for (const { layout, pairs } of started) {
          await untilQuiet(patienceMs);
          const input = { bytes, round, sequence, subscribers: connections / pairs.length };
          const each = await Promise.all(pairs.map((pair) => broadcast(pair, input)));
          if (round >= 0) samples.push({ layout: layout.name, bytes, round, tookMs: tookTogether(each) });
        }
        progress(`${bytesText(bytes)}: ${round < 0 ? "warm-up" : `round ${round + 1} of ${rounds}`}`);
      }
    }
  } finally {
    await Promise.all(started.flatMap(({ pairs }) => pairs.map(stopPair)));
  }
  return {
    setup: [
      `${connections.toLocaleString("en")} connections in each row, ${rounds} rounds`,
      cores.description,
    ],
    tables: [table(samples, storms)],
    targets: payloads.flatMap((bytes) => target(samples, bytes)),
    warnings: [],
    invalid: [],
    samples,
  };
}

function tookTogether(samples: readonly BroadcastSample[]): number {
  const first = Math.min(...samples.map(({ publishedMs }) => publishedMs));
  return Math.max(...samples.map(({ publishedMs, lastMs }) => publishedMs + lastMs)) - first;
}

function times(samples: readonly Sample[], layout: string | undefined, bytes: number): readonly number[] {
  return samples.filter((each) => each.layout === layout && each.bytes === bytes).map(({ tookMs }) => tookMs);
}

function toPlain(samples: readonly Sample[], layout: string | undefined, bytes: number): number {
  const others = times(samples, plain, bytes);
  return median(times(samples, layout, bytes).map((tookMs, round) => tookMs / (others[round] ?? NaN)));
}

function table(
  samples: readonly Sample[],
  storms: ReadonlyMap<string, number>,
): CaseOutcome["tables"][number] {
  return {
    title: "Until the last of all has it",
    columns: [
      "servers",
      ...payloads.map((bytes) => `${bytesText(bytes)}, ms: median (min–max), to plain`),
      "all connect, s",
    ],
    rows: layouts.map(({ name }) => [
      name,
      ...payloads.map(
        (bytes) => `${range(spread(times(samples, name, bytes)))}, ${digits(toPlain(samples, name, bytes))}`,
      ),
      digits((storms.get(name) ?? NaN) / 1_000),
    ]),
  };
}

function target(samples: readonly Sample[], bytes: number): readonly Target[] {
  const limit = flagdProxyToPlain.get(bytes);
  if (limit === undefined) return [];
  return [
    {
      what: `${bytesText(bytes)}, two processes: median ratio to the plain server, of which flagd-proxy on two cores has ${digits(limit)}`,
      limit: Number(limit.toFixed(2)),
      measured: toPlain(samples, two, bytes),
      unit: "×",
    },
  ];
}
