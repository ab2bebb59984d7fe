import type { CaseOutcome, ResultTable, Target } from "../support/bench-case.js";
import { bytesText, digits, percent, range } from "../support/format.js";
import type { CorePlan } from "../support/processor.js";
import { median, spread } from "../support/statistics.js";
import { entries, type EntryName } from "./entry.js";
import { warmUpRounds, type Measurements } from "./measurements.js";

export interface FanOutReport {
  readonly measured: Measurements;
  readonly targets: readonly Target[];
  readonly names: readonly EntryName[];
  readonly payloads: readonly number[];
  readonly roundsOf: (bytes: number) => number;
  readonly connections: number;
  readonly streams: number;
  readonly cores: CorePlan;
  readonly isQuick: boolean;
}

const maxClientBusyShare = 0.9;
const maxServerWaitShare = 0.06;

export function reportFanOut(report: FanOutReport): CaseOutcome {
  const { measured, targets, names, payloads, roundsOf, connections, streams, cores } = report;
  const count = connections.toLocaleString("en");
  return {
    setup: [
      `${count} connections × ${streams} ${streams === 1 ? "stream" : "streams"} for each server`,
      `documents of ${payloads.map((bytes) => `${bytesText(bytes)} (${roundsOf(bytes)} rounds after ${warmUpRounds} to warm up)`).join(", ")}, of which one number changes`,
      cores.description,
    ],
    tables: payloads.map((bytes) => payloadTable(report, bytes)),
    targets,
    warnings: warnings(measured),
    invalid: payloads.flatMap((bytes) => names.flatMap((name) => invalid(report, name, bytes))),
    samples: { broadcasts: measured.samples, memory: measured.memory },
  };
}

const columns = [
  "server",
  "ms: median (min–max)",
  "ratio to the floor: median (min–max)",
  "to plain",
  "to naive",
  "ms to the median subscriber",
  "server CPU µs per subscriber",
  "bytes per subscriber",
  "RSS before, MB",
  "RSS growth to its peak, MB",
  "RSS after, KB per subscriber",
  "client busy",
];

function payloadTable({ measured, names }: FanOutReport, bytes: number): ResultTable {
  const ratioTo = (name: EntryName, reference: EntryName) => {
    if (!names.includes(reference)) return "";
    return name === reference ? "1" : digits(measured.medianRatio(name, reference, bytes));
  };
  const ratioToFloor = (name: EntryName) => {
    if (!names.includes("floor")) return "";
    return name === "floor" ? "1" : range(spread(measured.ratios(name, "floor", bytes)));
  };
  const rows = names.map((name) => {
    const own = measured.of(name, bytes);
    const of = (value: (sample: (typeof own)[number]) => number) => median(own.map(value));
    return [
      entries[name].name,
      range(spread(own.map(({ tookMs }) => tookMs))),
      ratioToFloor(name),
      ratioTo(name, "plain"),
      ratioTo(name, "naive"),
      digits(of(({ p50Ms }) => p50Ms)),
      digits(of(({ serverCpuUs }) => serverCpuUs)),
      bytesText(of(({ messageBytes }) => messageBytes)),
      digits(measured.memoryOf(name, bytes)?.restMb ?? NaN),
      digits(measured.growthMb(name, bytes)),
      digits(measured.memoryOf(name, bytes)?.afterKbPerSubscriber ?? NaN),
      percent(of(({ clientBusyShare }) => clientBusyShare)),
    ];
  });
  // An empty column is omitted.
  const used = columns.map((_, index) => rows.some((row) => row[index] !== ""));
  const kept = (row: readonly string[]) => row.filter((_, index) => used[index]);
  return { title: `${bytesText(bytes)} to everyone`, columns: kept(columns), rows: rows.map(kept) };
}

function warnings({ samples }: Measurements): string[] {
  const disturbed = samples.filter(({ serverWaitShare }) => serverWaitShare > maxServerWaitShare);
  if (disturbed.length === 0) return [];
  return [
    `in ${disturbed.length} of ${samples.length} broadcasts the server waited for its core for over ${percent(maxServerWaitShare)} of the time: something else ran on it`,
  ];
}

/** Reasons why the measurements of a server at a size do not count. */
function invalid({ measured, isQuick }: FanOutReport, name: EntryName, bytes: number): string[] {
  const own = measured.of(name, bytes);
  const { form } = entries[name];
  const what = `${entries[name].name} at ${bytesText(bytes)}`;
  const reasons: string[] = [];
  const forms = new Set(own.flatMap(({ kinds }) => Object.keys(kinds)));
  if (forms.size !== 1 || !forms.has(form))
    reasons.push(`${what}: payloads were expected as ${form}, but came as ${[...forms].join(" and ")}`);
  const busy = median(own.map(({ clientBusyShare }) => clientBusyShare));
  if (busy > maxClientBusyShare && !isQuick)
    reasons.push(`client-limited: with ${what} the load client was busy for ${percent(busy)} of the time`);
  return reasons;
}
