import { readFileSync } from "node:fs";
import { firstSequence } from "../fixtures/sequenced-document.js";
import type { BenchCase, CaseOutcome, RunOptions, Target } from "../support/bench-case.js";
import { bytesText, digits } from "../support/format.js";
import { countParameter, namesParameter, sizesParameter } from "../support/parameters.js";
import { processMemory, resetPeakMemory } from "../support/processor.js";
import { untilQuiet } from "../support/wait.js";
import { broadcast, type BroadcastSample } from "./broadcast.js";
import { entries, type EntryName } from "./entry.js";
import { Measurements, warmUpRounds, type MemorySample } from "./measurements.js";
import { connectSwarm, startPair, stopPair, type Pair } from "./pair.js";
import { reportFanOut } from "./report.js";

/** One fan-out case: the servers, the number of subscribers, the documents, and the targets. */
export interface FanOutDefinition {
  readonly name: string;
  readonly method: string;
  readonly connections: number;
  readonly streams: number;
  readonly payloads: readonly number[];
  readonly entries: readonly EntryName[];
  /** Rounds after the warm-up. */
  readonly rounds: (bytes: number) => number;
  readonly targets: (measured: Measurements) => readonly Target[];
}

export function fanOutCase(definition: FanOutDefinition): BenchCase {
  const { name, method } = definition;
  return { name, method, run: (options) => runFanOut(definition, options) };
}

async function runFanOut(definition: FanOutDefinition, options: RunOptions): Promise<CaseOutcome> {
  const { isQuick, parameters, cores, progress } = options;
  const normal = isQuick ? quick(definition) : definition;
  const connections = countParameter(parameters, "connections", normal.connections);
  const streams = countParameter(parameters, "streams", normal.streams);
  const payloads = sizesParameter(parameters, "payloads", normal.payloads);
  const chosen = namesParameter(parameters, "servers", Object.keys(entries), definition.entries);
  const patienceMs = isQuick ? 0 : countParameter(parameters, "patience-ms", 10_000);
  const roundsOf = (bytes: number) => countParameter(parameters, "pairs", normal.rounds(bytes));
  assertFilesSuffice(connections);

  const pairs: Pair[] = [];
  const samples: BroadcastSample[] = [];
  const memory: MemorySample[] = [];
  try {
    for (const key of chosen) pairs.push(await openPair(key as EntryName, { connections, streams }, options));
    let sequence = firstSequence;
    for (const bytes of payloads) {
      const rounds = roundsOf(bytes);
      const restMb = pairs.map(({ server }) => restMemory(server.pid));
      for (let round = -warmUpRounds; round < rounds; round++) {
        sequence++;
        for (const pair of rotated(pairs, round)) {
          await untilQuiet(patienceMs);
          const input = { bytes, round, sequence, subscribers: connections * streams };
          const sample = await broadcast(pair, input);
          if (round >= 0) samples.push(sample);
        }
        progress(`${bytesText(bytes)}: ${round < 0 ? "warm-up" : `round ${round + 1} of ${rounds}`}`);
      }
      pairs.forEach(({ key, server, startMb }, index) => {
        const { peakRssMb: peakMb, rssMb: afterMb } = processMemory(server.pid);
        const afterKbPerSubscriber = ((afterMb - startMb) * 1024) / (connections * streams);
        const rest = { restMb: restMb[index] ?? NaN, peakMb, afterMb, afterKbPerSubscriber };
        memory.push({ entry: key, bytes, ...rest });
      });
    }
  } finally {
    await Promise.all(pairs.map(stopPair));
  }
  const measured = new Measurements(samples, memory);
  const isWhole = !parameters.has("servers") && !parameters.has("payloads");
  // With only some of the servers or sizes, not every target can be computed.
  const targets = definition
    .targets(measured)
    .filter(({ measured: value }) => isWhole || !Number.isNaN(value));
  return reportFanOut({
    measured,
    targets,
    names: pairs.map(({ key }) => key),
    payloads,
    roundsOf,
    connections,
    streams,
    cores,
    isQuick,
  });
}

function quick(definition: FanOutDefinition): FanOutDefinition {
  const { connections, streams } = definition;
  return {
    ...definition,
    connections: Math.max(10, connections / 50),
    streams: Math.max(1, streams / 10),
    rounds: () => 2,
  };
}

async function openPair(
  key: EntryName,
  counts: { readonly connections: number; readonly streams: number },
  { cores, progress }: RunOptions,
): Promise<Pair> {
  const pair = await startPair(key, cores);
  try {
    const { elapsedMs, refused, refusal } = await connectSwarm(pair, counts);
    if (refused > 0)
      throw new Error(`${pair.entry.name}: ${refused} connections were refused: ${refusal ?? ""}`);
    progress(`${pair.entry.name}: connected in ${digits(elapsedMs / 1000)} s`);
    return pair;
  } catch (error) {
    await stopPair(pair);
    throw error;
  }
}

function restMemory(pid: number): number {
  resetPeakMemory(pid);
  return processMemory(pid).rssMb;
}

/** A different server goes first in each round. */
function rotated<T>(items: readonly T[], round: number): T[] {
  const first = (round + items.length * warmUpRounds) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

export function assertFilesSuffice(connections: number): void {
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
