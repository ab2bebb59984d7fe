/** Serves the directory given as its argument until all of it was read, and prints what came of it: one JSON text. */
import { createLogger, systemClock } from "@bunting/runtime";
import { CountingMetrics } from "../source.fixture.js";
import { DirectorySource } from "./directory-source.js";

export interface HeapReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly peakHeapMb: number;
  readonly log: readonly string[];
}

const metrics = new CountingMetrics();
const log: string[] = [];
const logger = createLogger({ format: "json", debug: false }, { write: (line) => void log.push(line) });
const source = new DirectorySource({
  path: process.argv[2] ?? "",
  context: { clock: systemClock, logger, metrics },
});
const stop = new AbortController();
source.onSynced(() => stop.abort());
let peakBytes = 0;
const watching = setInterval(() => {
  peakBytes = Math.max(peakBytes, process.memoryUsage().heapUsed);
}, 5);
await source.run(stop.signal);
clearInterval(watching);
const peakHeapMb = Math.round(Math.max(peakBytes, process.memoryUsage().heapUsed) / 1024 / 1024);
const report: HeapReport = { counts: metrics.counts, peakHeapMb, log };
process.stdout.write(JSON.stringify(report));
