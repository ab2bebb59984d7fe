import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import {
  reportBroadcast,
  warmUpRounds,
  type BroadcastSample,
  type MemorySample,
  type StormSample,
} from "./broadcast-report.js";
import { firstSequence } from "./fixtures/sequenced-document.js";
import type { SwarmHandlers } from "./load/swarm-process.js";
import { broadcastPath, broadcastSelector, contenders, type Contender } from "./servers/contender.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { bytesText, digits } from "./support/format.js";
import { countParameter, namesParameter, sizesParameter } from "./support/parameters.js";
import { cpuTime, processMemory, resetPeakMemory, type CorePlan } from "./support/processor.js";
import { untilQuiet } from "./support/wait.js";

interface Pair {
  readonly contender: Contender;
  readonly swarm: ChildProcess<SwarmHandlers>;
}

/** After the last subscriber has it, the server still has callbacks of writes to answer: they count too. */
const settleMs = 150;

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
  const { isQuick, parameters, cores, progress } = options;
  const connections = countParameter(parameters, "connections", isQuick ? 200 : 10_000);
  const rounds = countParameter(parameters, "pairs", isQuick ? 2 : 9);
  const payloads = sizesParameter(parameters, "payloads", isQuick ? [10_000] : [10_000, 1_000, 100_000]);
  assertFilesSuffice(connections);
  const servers = namesParameter(parameters, "servers", Object.keys(contenders));
  const pairs: Pair[] = [];
  try {
    const storms = await openAll(pairs, { servers, connections, cores, progress });
    const samples: BroadcastSample[] = [];
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
    return reportBroadcast({ connections, rounds, payloads, cores, storms, samples, memory, isQuick });
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

async function openAll(
  pairs: Pair[],
  { servers, connections, cores, progress }: OpenInput,
): Promise<StormSample[]> {
  const script = await bundle("load/swarm-process.ts", "proxy");
  const storms: StormSample[] = [];
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
    storms.push({ contender: contender.name, elapsedMs });
  }
  return storms;
}

interface BroadcastInput {
  readonly bytes: number;
  readonly round: number;
  readonly sequence: number;
  readonly connections: number;
}

async function broadcastOnce({ contender, swarm }: Pair, input: BroadcastInput): Promise<BroadcastSample> {
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
