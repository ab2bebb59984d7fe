import { setTimeout as delay } from "node:timers/promises";
import type { MessageKind } from "../load/message-head.js";
import { cpuTime } from "../support/processor.js";
import type { EntryName } from "./entry.js";
import type { Pair } from "./pair.js";

/** One broadcast, timed; times count from the moment the server was handed the document. */
export interface BroadcastSample {
  readonly entry: EntryName;
  readonly bytes: number;
  readonly round: number;
  /**
   * The measured time: until the last subscriber has read the last byte or, if subscribers acknowledge, until the server has the last
   * acknowledgement.
   */
  readonly tookMs: number;
  /** When the server was handed the document, on the clock that all processes share. */
  readonly publishedMs: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
  /** Until the server knew that all subscribers have it; undefined if it can't know. */
  readonly convergedMs?: number;
  /** CPU of the server per subscriber. */
  readonly serverCpuUs: number;
  /** How long the server waited for its core because other processes ran there, as a share of `tookMs`. */
  readonly serverWaitShare: number;
  readonly clientBusyShare: number;
  /** Of one subscriber in both directions: gRPC messages and the answers to them. */
  readonly messageBytes: number;
  readonly kinds: Partial<Record<MessageKind, number>>;
}

export interface BroadcastInput {
  readonly bytes: number;
  readonly round: number;
  readonly sequence: number;
  readonly subscribers: number;
}

/** After the last subscriber has it, the server still has write callbacks to run, which count too. */
const settleMs = 150;

export async function broadcast(pair: Pair, input: BroadcastInput): Promise<BroadcastSample> {
  const { key, entry, server, swarm } = pair;
  const { bytes, round, sequence, subscribers } = input;
  await swarm.call("expect", { sequence });
  const before = cpuTime(server.pid);
  const arriving = swarm.call("arrival", undefined);
  const { publishedMs } = await server.publish({ sequence, bytes });
  const { firstMs, p50Ms, p99Ms, lastMs, cpuMs, messageBytes, answerBytes, kinds } = await arriving;
  const converged = await server.converged?.();
  await delay(settleMs);
  const after = cpuTime(server.pid);
  const endMs = entry.protocol === "bunting" ? Math.max(lastMs, converged?.convergedMs ?? NaN) : lastMs;
  const tookMs = endMs - publishedMs;
  return {
    entry: key,
    bytes,
    round,
    tookMs,
    publishedMs,
    firstMs: firstMs - publishedMs,
    p50Ms: p50Ms - publishedMs,
    p99Ms: p99Ms - publishedMs,
    lastMs: lastMs - publishedMs,
    ...(converged === undefined ? {} : { convergedMs: converged.convergedMs - publishedMs }),
    serverCpuUs: ((after.busyMs - before.busyMs) * 1000) / subscribers,
    serverWaitShare: (after.waitedMs - before.waitedMs) / tookMs,
    clientBusyShare: cpuMs / tookMs,
    messageBytes: messageBytes + answerBytes,
    kinds,
  };
}
