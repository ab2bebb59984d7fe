export * from "./options.js";
export { aborted, isAborted, unlessAborted, untilAny } from "./aborted.js";
export { runService } from "./run-service.js";
export { sleep, startSleep, systemClock, type Clock } from "./clock.js";
export { runComponents, runnableComponent, stoppedTogether, type Component } from "./component.js";
export type { Context, ServingContext } from "./context.js";
export { ScrapedCounter } from "./scraped-counter.js";
export type { Sample } from "./metrics-text.js";
export { Distribution } from "./distribution.js";
export { ScrapedHistogram, type HistogramSeries } from "./scraped-histogram.js";
export { defineMetrics, type MetricsOf } from "./define-metrics.js";
export { label } from "./labelled-values.js";
export {
  booleanGauge,
  counter,
  detailed,
  gauge,
  histogram,
  observed,
  sizedCounter,
  stateSet,
  transientGauge,
  upDownCounter,
} from "./metric-kinds.js";
export { GatheredBytes } from "./gathered-bytes.js";
export { Counts } from "./counts.js";
export { SetMultimap } from "./set-multimap.js";
export { createLogger, type Logger } from "./logger.js";
export { managementHandler, type Readiness } from "./management-handler.js";
export { createRegistry, Gauge, Histogram, Registry } from "./metrics.js";
export { buildInfo, processMetrics } from "./process-metrics.js";
export { serviceAccountOption } from "./options/kubeconfig-options.js";
export { serviceOptions } from "./options/service-options.js";
export { givenFlags, publicOptions } from "./options/option.js";
export { readOptions } from "./options/read-options.js";
export { byteSize, jsonText, longestMs, mapping, port, type ValueType } from "./options/value-types.js";
export { RateLimitedLog } from "./rate-limited-log.js";
export type { Runnable } from "./runnable.js";
export { Signal } from "./signal.js";
export { singleLine } from "./single-line.js";
export { readPemFile, readSmallFile, stampOfFile } from "./small-file.js";
export { tokenSyntax } from "./token-syntax.js";
export { mostUnreadBytes } from "./unread-bytes.js";
export { heapLimitBytes, usedHeapBytes } from "./memory/heap.js";
export { residentBytes } from "./memory/resident-bytes.js";
export { HeapRoom, type DocumentRoom } from "./memory/heap-room.js";
export { collectAtRest } from "./memory/collect-at-rest.js";
export { canCollect, collectAtPercent, collectGarbage, setV8Flags } from "./memory/v8-control.js";
export { WatchedFiles, type ReloadOptions } from "./watched-files.js";
export { within } from "./within.js";
export { Backoff } from "./scheduling/backoff.js";
export { Deadlines } from "./scheduling/deadlines.js";
export { currentTurn, nextTurn, onNextTurn } from "./scheduling/event-loop.js";
export { FairQueue } from "./scheduling/fair-queue.js";
export { FairTurns } from "./scheduling/fair-turns.js";
export { Overdue } from "./scheduling/overdue.js";
export { Semaphore } from "./scheduling/semaphore.js";
export { loadOnce } from "./scheduling/load-once.js";
export { shareInFlight } from "./scheduling/share-in-flight.js";
export { forEachInSlices, runInSlices } from "./scheduling/slices.js";
export { Sweep } from "./scheduling/sweep.js";
export { TokenBucket, type Rate } from "./scheduling/token-bucket.js";
export { WorkQueue, type Work, type WorkQueueMetrics, type WorkResult } from "./scheduling/work-queue.js";
