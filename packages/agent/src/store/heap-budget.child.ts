/**
 * Not a test: a process for heap-budget.test.ts. It holds what an agent holds, takes the documents named on its command line one after
 * the other, evaluates every flag of each, and writes all of them out, as a bulk answer and SyncFlags do. Prints one line of JSON a document.
 */
import * as grpc from "@grpc/grpc-js";
import { createLogger, createRegistry, systemClock } from "@bunting/runtime";
import { readFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";
import { AgentError } from "../agent-error.js";
import { FlagsFrame } from "../api/sync/flags-frame.js";
import { Evaluator } from "@bunting/evaluation";
import { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import { FlagStore } from "./flag-store.js";
import { HeapBudget } from "./heap-budget.js";

/** What became of one document. */
export interface ChildReport {
  readonly accepted: boolean;
  readonly reason: string;
  readonly documentBytes: number;
  readonly rssBytes: number;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
}

const context = { targetingKey: "user-1", email: "a@example.com", country: "de", tier: "team", seats: 5 };

function main(documents: readonly string[]): void {
  const server = new grpc.Server();
  const store = new FlagStore({
    sources: [{ uri: "proxy:8015" }],
    budget: new HeapBudget(),
    context: {
      logger: createLogger({ format: "json", debug: false }),
      metrics: agentPrometheusMetrics(createRegistry(true)),
    },
  });
  const evaluator = new Evaluator({ clock: systemClock });
  store.onChange((change) => evaluator.apply(change));
  for (const file of documents) {
    const bytes = readFileSync(file);
    let reason = "";
    try {
      store.replace(0, bytes);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "DOCUMENT_TOO_LARGE") throw error;
      reason = error.message;
    }
    new FlagsFrame(store.flags());
    for (const { flag, resolution } of evaluator.resolveAll(context)) {
      JSON.stringify({ key: flag.key, value: resolution.value, metadata: resolution.metadata });
    }
    const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
    const report: ChildReport = {
      accepted: reason === "",
      reason,
      documentBytes: bytes.length,
      rssBytes: process.memoryUsage.rss(),
      heapUsedBytes,
      heapLimitBytes,
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  }
  server.forceShutdown();
}

const [marker, ...documents] = process.argv.slice(2);
if (marker === "--heap-budget-child") main(documents);
