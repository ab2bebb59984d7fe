import { setTimeout as delay } from "node:timers/promises";
import { syncV1, type TopicKey } from "@bunting/protocol";
import { GrpcSession } from "../sync/grpc-session.js";
import type { Server } from "../sync/server.js";
import { Latencies, summaryOf, type LatencySummary } from "./latencies.js";

export interface SubscriberPlan {
  readonly subscribers: number;
  readonly connections: number;
  readonly durationMs: number;
  readonly progress: (served: number, elapsedMs: number) => void;
}

export interface SubscriberResult {
  readonly subscribers: number;
  readonly connections: number;
  /** Subscribers that got the flags. */
  readonly served: number;
  /** From opening the stream until the first flags. */
  readonly firstFlagsMs: LatencySummary;
  /** Further versions, over all subscribers. */
  readonly updates: number;
  readonly megabytes: number;
  /** Subscribers whose stream ended before the load did. */
  readonly lost: number;
  readonly lostReasons: Readonly<Record<string, number>>;
}

const path = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const progressEveryMs = 200;

/** Subscribes to a topic many times, as providers that evaluate in process do, and stays for as long as planned. */
export async function runSubscriberLoad(
  server: Server,
  topic: TopicKey,
  plan: SubscriberPlan,
  signal: AbortSignal,
): Promise<SubscriberResult> {
  const { subscribers, connections, durationMs, progress } = plan;
  const sessions = Array.from({ length: connections }, () => new GrpcSession(server));
  const selector = `core.openfeature.dev/${topic}`;
  const request = syncV1.SyncFlagsRequest.encode({ providerId: "bunting-bench", selector }).finish();
  const first = new Latencies();
  const reasons = new Map<string, number>();
  const startMs = performance.now();
  let updates = 0;
  let bytes = 0;
  let lost = 0;
  let isOver = false;
  for (let index = 0; index < subscribers; index++) {
    const session = sessions[index % connections];
    if (session === undefined) break;
    const openedMs = performance.now();
    let messages = 0;
    const call = session.call(
      path,
      { "flagd-selector": selector },
      {
        message: (message) => {
          bytes += message.length;
          if (messages++ === 0) first.add(performance.now() - openedMs);
          else updates++;
        },
        ended: ({ message }) => {
          if (isOver) return;
          lost++;
          reasons.set(message, (reasons.get(message) ?? 0) + 1);
        },
      },
    );
    call.send(request);
    call.finish();
    // Answers are read in between.
    if (index % 100 === 99) await delay(1);
  }
  const timer = setInterval(() => progress(first.count, performance.now() - startMs), progressEveryMs);
  const left = (): number => durationMs - (performance.now() - startMs);
  while (left() > 0 && lost < subscribers && !signal.aborted) {
    await delay(Math.min(progressEveryMs, Math.max(1, left())), undefined, { signal }).catch(() => undefined);
  }
  clearInterval(timer);
  isOver = true;
  for (const session of sessions) session.close();
  return {
    subscribers,
    connections,
    served: first.count,
    firstFlagsMs: summaryOf(first),
    updates,
    megabytes: Number((bytes / 1e6).toFixed(2)),
    lost,
    lostReasons: Object.fromEntries(reasons),
  };
}
