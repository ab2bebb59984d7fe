import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { firstSequence } from "./fixtures/sequenced-document.js";
import type { SwarmHandlers } from "./load/swarm-process.js";
import { broadcastPath, broadcastSelector, contenders, type Contender } from "./servers/contender.js";
import type { BenchCase, CaseOutcome, ResultTable, RunOptions, Target } from "./support/bench-case.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { bytesText, digits, percent, range } from "./support/format.js";
import { countParameter, namesParameter, sizesParameter } from "./support/parameters.js";
import {
  cpuTime,
  pinSelf,
  planCores,
  processMemory,
  resetPeakMemory,
  type CorePlan,
} from "./support/processor.js";
import { median, spread } from "./support/statistics.js";
import { untilQuiet } from "./support/wait.js";

/** One broadcast, timed. */
interface Sample {
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
interface MemorySample {
  readonly contender: string;
  readonly bytes: number;
  readonly idleMb: number;
  readonly peakMb: number;
}

interface Pair {
  readonly contender: Contender;
  readonly swarm: ChildProcess<SwarmHandlers>;
}

const warmUpRounds = 2;
/** After the last subscriber has it, the server still has callbacks of writes to answer: they count too. */
const settleMs = 150;
const maxClientBusyShare = 0.9;
const reference = "plain node:http2";

export const broadcastCase: BenchCase = {
  name: "broadcast",
  method:
    "Each server process has its own load client with N connections of one stream each, all open at the same time; in every round each server broadcasts one document " +
    "once, one after the other and in changing order. Time runs from the moment a server is handed the document, before it is encoded (or from before the " +
    "`rename` of a file in the watched directory), until the last subscriber has read the last byte; every payload carries a sequence number that is checked. " +
    "What counts is the ratio to the plain server in the same round, and of these the median. CPU is that of the server's threads (schedstat), divided " +
    "by N. Streams have the window of 65,535 bytes that most gRPC clients start with. The client is a raw-socket HTTP/2 client in one process per server; a run in which it was " +
    "busy for more than 90 % of the time is marked and fails. The sender's core also pays for the receiving side of loopback TCP.",
  run: runBroadcast,
};

async function runBroadcast(options: RunOptions): Promise<CaseOutcome> {
  const { isQuick, parameters, progress } = options;
  const connections = countParameter(parameters, "connections", isQuick ? 200 : 10_000);
  const rounds = countParameter(parameters, "pairs", isQuick ? 2 : 9);
  const payloads = sizesParameter(parameters, "payloads", isQuick ? [10_000] : [10_000, 1_000, 100_000]);
  assertFilesSuffice(connections);
  const servers = namesParameter(parameters, "servers", Object.keys(contenders));
  const cores = planCores();
  pinSelf(cores.load);
  const pairs: Pair[] = [];
  try {
    await openAll(pairs, { servers, connections, cores, progress });
    const samples: Sample[] = [];
    const memory: MemorySample[] = [];
    let sequence = firstSequence;
    for (const bytes of payloads) {
      const idle = pairs.map(({ contender }) => idleMemory(contender.pid));
      for (let round = -warmUpRounds; round < rounds; round++) {
        sequence++;
        for (const pair of rotated(pairs, round)) {
          if (!isQuick) await untilQuiet(10_000);
          const sample = await broadcastOnce(pair, { bytes, round, sequence, connections });
          if (round >= 0) samples.push(sample);
        }
        progress(`${bytesText(bytes)}: ${round < 0 ? "warm-up" : `round ${round + 1} of ${rounds}`}`);
      }
      pairs.forEach(({ contender }, index) => {
        const peakMb = processMemory(contender.pid).peakRssMb;
        memory.push({ contender: contender.name, bytes, idleMb: idle[index] ?? NaN, peakMb });
      });
    }
    return outcome({ connections, rounds, payloads, cores, samples, memory, isQuick });
  } finally {
    await Promise.all(pairs.flatMap(({ contender, swarm }) => [swarm.stop(), contender.stop()]));
  }
}

interface OpenInput {
  readonly servers: readonly string[];
  readonly connections: number;
  readonly cores: CorePlan;
  readonly progress: (line: string) => void;
}

async function openAll(pairs: Pair[], { servers, connections, cores, progress }: OpenInput): Promise<void> {
  const script = await bundle("load/swarm-process.ts", "proxy");
  for (const [name, start] of Object.entries(contenders)) {
    if (!servers.includes(name)) continue;
    const contender = await start(cores.measured);
    const swarm = new ChildProcess<SwarmHandlers>({
      name: `clients of ${contender.name}`,
      script,
      core: cores.load,
    });
    pairs.push({ contender, swarm });
    const where = {
      host: "127.0.0.1",
      port: contender.port,
      path: broadcastPath,
      selector: broadcastSelector,
    };
    const { elapsedMs } = await swarm.call("connect", { ...where, connections }, 120_000);
    progress(`${contender.name}: ${connections} subscribers connected in ${digits(elapsedMs / 1000)} s`);
  }
}

interface BroadcastInput {
  readonly bytes: number;
  readonly round: number;
  readonly sequence: number;
  readonly connections: number;
}

async function broadcastOnce({ contender, swarm }: Pair, input: BroadcastInput): Promise<Sample> {
  const { bytes, round, sequence, connections } = input;
  await swarm.call("expect", { sequence });
  const before = cpuTime(contender.pid);
  const arrival = swarm.call("arrival", undefined);
  const { publishedMs } = await contender.publish({ sequence, bytes });
  const { firstMs, p50Ms, p99Ms, lastMs, cpuMs } = await arrival;
  await delay(settleMs);
  const after = cpuTime(contender.pid);
  const tookMs = lastMs - publishedMs;
  return {
    contender: contender.name,
    bytes,
    round,
    firstMs: firstMs - publishedMs,
    p50Ms: p50Ms - publishedMs,
    p99Ms: p99Ms - publishedMs,
    lastMs: tookMs,
    serverCpuUs: ((after.busyMs - before.busyMs) * 1000) / connections,
    serverWaitShare: (after.waitedMs - before.waitedMs) / tookMs,
    clientBusyShare: cpuMs / tookMs,
  };
}

function idleMemory(pid: number): number {
  resetPeakMemory(pid);
  return processMemory(pid).rssMb;
}

/** Another one goes first each round. */
function rotated<T>(items: readonly T[], round: number): T[] {
  const first = (round + items.length * warmUpRounds) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

function assertFilesSuffice(connections: number): void {
  const limit = Number(
    /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity,
  );
  const needed = connections + 200;
  if (limit < needed) {
    throw new Error(
      `${connections} connections need ${needed} open files a process, and the limit is ${limit}: raise it (ulimit -n ${needed}) or give --connections=${limit - 200}`,
    );
  }
}

interface OutcomeInput {
  readonly connections: number;
  readonly rounds: number;
  readonly payloads: readonly number[];
  readonly cores: CorePlan;
  readonly samples: readonly Sample[];
  readonly memory: readonly MemorySample[];
  readonly isQuick: boolean;
}

function outcome({
  connections,
  rounds,
  payloads,
  cores,
  samples,
  memory,
  isQuick,
}: OutcomeInput): CaseOutcome {
  const names = [...new Set(samples.map(({ contender }) => contender))];
  const tables = payloads.map((bytes) => payloadTable({ bytes, names, samples, memory }));
  const { invalid, warnings } = judge(samples, isQuick);
  return {
    setup: [
      `${connections} connections × 1 stream for each server, ${rounds} rounds after ${warmUpRounds} to warm up`,
      `documents of ${payloads.map((bytes) => `${bytes} bytes`).join(", ")}, of which one number changes`,
      cores.description,
    ],
    tables,
    targets: payloads.includes(10_000) ? targets(samples, memory) : [],
    warnings,
    invalid,
    samples: { broadcasts: samples, memory },
  };
}

interface TableInput {
  readonly bytes: number;
  readonly names: readonly string[];
  readonly samples: readonly Sample[];
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
function ratios(own: readonly Sample[], samples: readonly Sample[]): number[] {
  return own.map(({ bytes, round, lastMs }) => {
    const plain = samples.find(
      (other) => other.contender === reference && other.bytes === bytes && other.round === round,
    );
    return lastMs / (plain?.lastMs ?? NaN);
  });
}

function targets(samples: readonly Sample[], memory: readonly MemorySample[]): Target[] {
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

function judge(samples: readonly Sample[], isQuick: boolean): Pick<CaseOutcome, "invalid" | "warnings"> {
  const limited = samples.filter(({ clientBusyShare }) => clientBusyShare > maxClientBusyShare);
  const disturbed = samples.filter(({ serverWaitShare }) => serverWaitShare > 0.06);
  const warnings: string[] = [];
  if (disturbed.length > 0) {
    warnings.push(
      `in ${disturbed.length} of ${samples.length} broadcasts the server waited for its core for over 6 % of the time: something else ran on it`,
    );
  }
  const invalid =
    limited.length > samples.length / 10 && !isQuick
      ? [
          `client-limited: in ${limited.length} of ${samples.length} broadcasts the load client was busy for over 90 % of the time`,
        ]
      : [];
  return { warnings, invalid };
}
