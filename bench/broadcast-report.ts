import type { CaseOutcome, ResultTable, Target } from "./support/bench-case.js";
import { bytesText, digits, percent, range } from "./support/format.js";
import type { CorePlan } from "./support/processor.js";
import { median, spread } from "./support/statistics.js";

/** One broadcast, timed. */
export interface BroadcastSample {
  readonly contender: string;
  readonly bytes: number;
  readonly round: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
  /** CPU of the server for each subscriber. */
  readonly serverCpuUs: number;
  /** How much longer it took since others ran on the server's core, as a share of `lastMs`. */
  readonly serverWaitShare: number;
  readonly clientBusyShare: number;
}

/** RSS before the first broadcast of a size, and the most it was until after the last. */
export interface MemorySample {
  readonly contender: string;
  readonly bytes: number;
  readonly idleMb: number;
  readonly peakMb: number;
}

/** How long it took from the first connection until every subscriber had its first payload, of 1 KB. */
export interface StormSample {
  readonly contender: string;
  readonly elapsedMs: number;
}

const maxClientBusyShare = 0.9;
const reference = "plain node:http2";
export const warmUpRounds = 2;

export interface BroadcastMeasurements {
  readonly connections: number;
  readonly rounds: number;
  readonly payloads: readonly number[];
  readonly cores: CorePlan;
  readonly storms: readonly StormSample[];
  readonly samples: readonly BroadcastSample[];
  readonly memory: readonly MemorySample[];
  readonly isQuick: boolean;
}

export function reportBroadcast({
  connections,
  rounds,
  payloads,
  cores,
  storms,
  samples,
  memory,
  isQuick,
}: BroadcastMeasurements): CaseOutcome {
  const names = [...new Set(samples.map(({ contender }) => contender))];
  const tables = payloads.map((bytes) => payloadTable({ bytes, names, samples, memory }));
  const groups = payloads.flatMap((bytes) =>
    names.map((name) => samples.filter((sample) => sample.contender === name && sample.bytes === bytes)),
  );
  const { invalid, warnings } = judge({ samples, isQuick }, groups);
  return {
    setup: [
      `${connections} connections × 1 stream for each server, ${rounds} rounds after ${warmUpRounds} to warm up`,
      `documents of ${payloads.map((bytes) => `${bytes} bytes`).join(", ")}, of which one number changes`,
      cores.description,
    ],
    tables: [stormTable(connections, storms), ...tables],
    targets: payloads.includes(10_000) ? targets(samples, memory) : [],
    warnings,
    invalid,
    samples: { storms, broadcasts: samples, memory },
  };
}

interface TableInput {
  readonly bytes: number;
  readonly names: readonly string[];
  readonly samples: readonly BroadcastSample[];
  readonly memory: readonly MemorySample[];
}

function payloadTable({ bytes, names, samples, memory }: TableInput): ResultTable {
  const rows = names.map((name) => {
    const own = samples.filter((sample) => sample.contender === name && sample.bytes === bytes);
    const at = memory.find((sample) => sample.contender === name && sample.bytes === bytes);
    return [
      name,
      range(spread(own.map(({ lastMs }) => lastMs))),
      name === reference ? "1" : range(spread(ratios(own, samples))),
      digits(median(own.map(({ p50Ms }) => p50Ms))),
      digits(median(own.map(({ serverCpuUs }) => serverCpuUs))),
      digits(at?.idleMb ?? NaN),
      digits((at?.peakMb ?? NaN) - (at?.idleMb ?? NaN)),
      percent(median(own.map(({ clientBusyShare }) => clientBusyShare))),
    ];
  });
  return {
    title: `${bytesText(bytes)} to everyone`,
    columns: [
      "server",
      "ms to the last: median (min–max)",
      "ratio to plain: median (min–max)",
      "ms to the median subscriber",
      "server CPU µs per subscriber",
      "RSS before, MB",
      "RSS growth to its peak, MB",
      "client busy",
    ],
    rows,
  };
}

/** Of each broadcast's time to the last, to that of the plain server in the same round. */
function ratios(own: readonly BroadcastSample[], samples: readonly BroadcastSample[]): number[] {
  return own.map(({ bytes, round, lastMs }) => {
    const plain = samples.find(
      (other) => other.contender === reference && other.bytes === bytes && other.round === round,
    );
    return lastMs / (plain?.lastMs ?? NaN);
  });
}

function targets(samples: readonly BroadcastSample[], memory: readonly MemorySample[]): Target[] {
  const name = "bunting-proxy, from publish";
  const own = samples.filter(({ contender, bytes }) => contender === name && bytes === 10_000);
  const shipped = memory.find(
    ({ contender, bytes }) => contender === "bunting-proxy, from rename" && bytes === 10_000,
  );
  return [
    {
      what: "10 KB to the last of all subscribers, from publish: median ratio to the plain server",
      limit: 1.15,
      measured: median(ratios(own, samples)),
      unit: "×",
    },
    {
      what: "RSS growth of the shipped proxy over all 10 KB broadcasts",
      limit: 20,
      measured: (shipped?.peakMb ?? NaN) - (shipped?.idleMb ?? NaN),
      unit: "MB",
    },
  ];
}

function judge(
  { samples, isQuick }: Pick<BroadcastMeasurements, "samples" | "isQuick">,
  groups: readonly (readonly BroadcastSample[])[],
): Pick<CaseOutcome, "invalid" | "warnings"> {
  const disturbed = samples.filter(({ serverWaitShare }) => serverWaitShare > 0.06);
  const warnings: string[] = [];
  if (disturbed.length > 0) {
    warnings.push(
      `in ${disturbed.length} of ${samples.length} broadcasts the server waited for its core for over 6 % of the time: something else ran on it`,
    );
  }
  const invalid: string[] = [];
  for (const group of groups) {
    const [first] = group;
    const busy = median(group.map(({ clientBusyShare }) => clientBusyShare));
    if (first === undefined || busy <= maxClientBusyShare || isQuick) continue;
    const what = `${first.contender} at ${bytesText(first.bytes)}`;
    invalid.push(`client-limited: with ${what} the load client was busy for ${percent(busy)} of the time`);
  }
  return { warnings, invalid };
}

function stormTable(connections: number, storms: readonly StormSample[]): ResultTable {
  return {
    title: `${connections.toLocaleString("en")} subscribers connect, 400 at a time, until each has its first 1 KB`,
    columns: ["server", "s"],
    rows: storms.map(({ contender, elapsedMs }) => [contender, digits(elapsedMs / 1000)]),
  };
}
