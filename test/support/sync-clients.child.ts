/**
 * A child process with many of the agent's sync clients: source and store, wired as in the agent, without the services. It answers each
 * message with a report.
 */
import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { createSyncSource } from "@bunting/agent/internal/sync/create-source.fixture.js";
import { parseSources } from "@bunting/agent/internal/sync/parse-sources.js";
import { noSyncMetrics } from "@bunting/agent/internal/sync/sync-metrics.fixture.js";
import { createLogger, systemClock } from "@bunting/runtime";
import type { ClientReport, SyncClientsInput } from "./sync-clients.js";

const { count, target, selector, flag } = JSON.parse(process.argv[2] ?? "") as SyncClientsInput;
const targets = [target].flat();
const selectors = [selector].flat();
const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
const reports: ClientReport[] = Array.from({ length: count }, () => ({
  last: 0,
  updates: 0,
  backwards: [],
  behindMs: 0,
}));
/** When the edits were made that clients hold. */
const heldAt = reports.map(() => Number.NaN);
const stops: AbortController[] = [];

const running = reports.map((report, index) => {
  const source = {
    uri: targets[index % targets.length],
    provider: "grpc",
    selector: selectors[Math.floor(index / targets.length) % selectors.length],
  };
  const [config] = parseSources({ uris: [], sources: JSON.stringify([source]) });
  if (config === undefined) throw new Error("there is one source");
  const budget = new HeapBudget();
  const store = new FlagStore({ sources: [config], budget, context: { logger, metrics: noStoreMetrics } });
  store.onChange(() => {
    const variants = store.flag("", flag)?.variants;
    const version = Number(variants?.get("v"));
    const at = heldAt[index] ?? Number.NaN;
    if (!Number.isNaN(at)) report.behindMs = Math.max(report.behindMs, Date.now() - at);
    heldAt[index] = Number(variants?.get("at"));
    report.updates++;
    if (version < report.last) report.backwards.push([report.last, version]);
    report.last = version;
  });
  const syncSource = createSyncSource(config, {
    receiver: {
      deliver: ({ sourceIndex, bytes, version }) => store.replace(sourceIndex, bytes, version),
      currentDocument: (sourceIndex) => store.currentDocument(sourceIndex),
      answered: () => undefined,
      memoryOf: () => ({}),
      confirm: (sourceIndex, version) => store.confirm(sourceIndex, version),
    },
    context: { logger, clock: systemClock, metrics: noSyncMetrics },
    maxDocumentBytes: budget.maxDocumentBytes,
  });
  const stop = new AbortController();
  stops.push(stop);
  return syncSource.run(stop.signal);
});

function stopAll(): void {
  for (const stop of stops) stop.abort();
}

process.on("message", (message) => {
  if (message === "stop") {
    stopAll();
    void Promise.all(running).then(() => process.disconnect());
  } else if (message === "measure") {
    for (const report of reports) report.behindMs = 0;
  } else process.send?.(reports);
});
process.on("disconnect", stopAll);
