import { setTimeout as delay } from "node:timers/promises";
import { assertFilesSuffice } from "./fan-out/fan-out-case.js";
import { entries, type EntryName } from "./fan-out/entry.js";
import { connectSwarm, startPair, stopPair } from "./fan-out/pair.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { digits, percent, range } from "./support/format.js";
import { countParameter, namesParameter } from "./support/parameters.js";
import { cpuTime, processMemory } from "./support/processor.js";
import { median, spread } from "./support/statistics.js";
import { untilQuiet } from "./support/wait.js";

/** How subscribers connect to one kind of server. */
export interface Storm {
  readonly entry: EntryName;
  readonly isAllAtOnce: boolean;
}

export interface StormSample extends Storm {
  readonly round: number;
  readonly elapsedMs: number;
  readonly refused: number;
  /** Why the first of them was refused. */
  readonly refusal?: string;
  /** Connections that resumed a session of TLS. */
  readonly resumed: number;
  readonly serverCpuUs: number;
  readonly clientBusyShare: number;
  readonly startMb: number;
  readonly idleKbPerSubscriber: number;
}

const storms: readonly Storm[] = [
  { entry: "floor", isAllAtOnce: false },
  { entry: "plain", isAllAtOnce: false },
  { entry: "naive", isAllAtOnce: false },
  { entry: "rename", isAllAtOnce: false },
  { entry: "rename", isAllAtOnce: true },
  { entry: "rename-tls", isAllAtOnce: false },
  { entry: "rename-bunting", isAllAtOnce: false },
];
const maxClientBusyShare = 0.9;

export const fanOutStormCase: BenchCase = {
  name: "fan-out-storm",
  method:
    "A freshly started server gets 10,000 connections, opened 400 at a time or all at once; the time ends when each has its first " +
    "document, of 1 KB. Then everything is idle for 3 s; the growth of the RSS since before the first connection, divided by the number of " +
    "connections, is the cost of one. No garbage collection is forced: this is what an operator would see. The shipped binary is measured. " +
    "If all connect at once, the result mostly shows the kernel's accept queue: the connections beyond it retry after 1 s.",
  run: runStorm,
};

async function runStorm(options: RunOptions): Promise<CaseOutcome> {
  const { isQuick, parameters, cores, progress } = options;
  const connections = countParameter(parameters, "connections", isQuick ? 200 : 10_000);
  const rounds = countParameter(parameters, "pairs", isQuick ? 1 : 3);
  const chosen = namesParameter(parameters, "servers", Object.keys(entries), [
    ...new Set(storms.map(({ entry }) => entry)),
  ]);
  assertFilesSuffice(connections);
  const samples: StormSample[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const storm of storms.filter(({ entry }) => chosen.includes(entry))) {
      const sample = await stormOnce({ storm, connections, round }, options);
      samples.push(sample);
      progress(
        `${nameOf(storm)}: ${digits(sample.elapsedMs / 1000)} s, ${digits(sample.idleKbPerSubscriber)} KB each (round ${round + 1} of ${rounds})`,
      );
    }
  }
  const shipped = samples.filter(({ entry, isAllAtOnce }) => entry === "rename" && !isAllAtOnce);
  const busy = median(shipped.map(({ clientBusyShare }) => clientBusyShare));
  const toOther = (other: EntryName, of: (sample: StormSample) => number): number => {
    const others = samples.filter(({ entry }) => entry === other);
    return median(
      shipped.map((sample) => {
        const beside = others[sample.round];
        return beside === undefined ? NaN : of(sample) / of(beside);
      }),
    );
  };
  return {
    setup: [
      `${connections.toLocaleString("en")} connections × 1 stream, ${rounds} rounds with fresh processes`,
      cores.description,
    ],
    tables: [table(samples)],
    targets: [
      {
        what: "storm, shipped binary: median until all have their first document",
        limit: 1,
        measured: median(shipped.map(({ elapsedMs }) => elapsedMs / 1000)),
        unit: "s",
      },
      {
        what: "the same in relation to the plain server, which took 1.05 s where the second was set",
        limit: 1,
        measured: toOther("plain", ({ elapsedMs }) => elapsedMs),
        unit: "×",
      },
      {
        what: "its processor time in relation to the floor's: the second was 1.8 times what sockets of node alone took where it was set",
        limit: 1.8,
        measured: toOther("floor", ({ serverCpuUs }) => serverCpuUs),
        unit: "×",
      },
      {
        what: "refused connections, shipped binary, in all its storms",
        limit: 0,
        measured: samples
          .filter(({ entry }) => shippedNames.has(entry))
          .reduce((sum, { refused }) => sum + refused, 0),
        unit: "connections",
      },
      {
        what: "idle, shipped binary: median for each subscriber",
        limit: 7,
        measured: median(shipped.map(({ idleKbPerSubscriber }) => idleKbPerSubscriber)),
        unit: "KB",
      },
    ],
    warnings: samples.flatMap((sample) =>
      sample.refusal === undefined
        ? []
        : [`${nameOf(sample)}: ${sample.refused} connections were refused, the first as ${sample.refusal}`],
    ),
    invalid:
      busy > maxClientBusyShare && !isQuick
        ? [
            `client-limited: with the shipped binary the load client was busy for ${percent(busy)} of the time`,
          ]
        : [],
    samples,
  };
}

interface StormInput {
  readonly storm: Storm;
  readonly connections: number;
  readonly round: number;
}

export async function stormOnce(
  { storm, connections, round }: StormInput,
  { isQuick, parameters, cores }: RunOptions,
): Promise<StormSample> {
  const restMs = isQuick ? 100 : 3_000;
  const pair = await startPair(storm.entry, cores);
  try {
    await untilQuiet(isQuick ? 0 : countParameter(parameters, "patience-ms", 10_000));
    const { pid } = pair.server;
    const startMb = processMemory(pid).rssMb;
    const before = cpuTime(pid);
    const counts = { connections, streams: 1, ...(storm.isAllAtOnce ? { maxOpening: connections } : {}) };
    const { elapsedMs, cpuMs, refused, refusal, resumed } = await connectSwarm(pair, counts);
    const after = cpuTime(pid);
    await delay(restMs);
    return {
      ...storm,
      round,
      elapsedMs,
      refused,
      ...(refusal === undefined ? {} : { refusal }),
      resumed,
      serverCpuUs: ((after.busyMs - before.busyMs) * 1000) / connections,
      clientBusyShare: cpuMs / elapsedMs,
      startMb,
      idleKbPerSubscriber: ((processMemory(pid).rssMb - startMb) * 1024) / connections,
    };
  } finally {
    await stopPair(pair);
  }
}

const shippedNames: ReadonlyMap<EntryName, string> = new Map([
  ["rename", "bunting-proxy, shipped binary"],
  ["rename-tls", "bunting-proxy, shipped binary, TLS"],
  ["rename-bunting", "bunting-proxy, shipped binary, bunting.sync.v1"],
]);

function nameOf({ entry, isAllAtOnce }: Storm): string {
  const name = shippedNames.get(entry) ?? entries[entry].name;
  return isAllAtOnce ? `${name}, all at once` : name;
}

function table(samples: readonly StormSample[]): CaseOutcome["tables"][number] {
  return {
    title: "Until each has its first document, and then at rest",
    columns: [
      "server",
      "s: median (min–max)",
      "refused",
      "server CPU µs per connection",
      "RSS at start, MB",
      "idle KB per subscriber: median (min–max)",
      "client busy",
    ],
    rows: storms.flatMap((storm) => {
      const own = samples.filter(
        ({ entry, isAllAtOnce }) => entry === storm.entry && isAllAtOnce === storm.isAllAtOnce,
      );
      if (own.length === 0) return [];
      const row = [
        nameOf(storm),
        range(spread(own.map(({ elapsedMs }) => elapsedMs / 1000))),
        String(own.reduce((sum, { refused }) => sum + refused, 0)),
        digits(median(own.map(({ serverCpuUs }) => serverCpuUs))),
        digits(median(own.map(({ startMb }) => startMb))),
        range(spread(own.map(({ idleKbPerSubscriber }) => idleKbPerSubscriber))),
        percent(median(own.map(({ clientBusyShare }) => clientBusyShare))),
      ];
      return [row];
    }),
  };
}
