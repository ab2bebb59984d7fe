export { aborted, isAborted } from "./aborted.js";
export { runService } from "./run-service.js";
export { processSignals } from "./process-signals.js";
export { sleep, startSleep, systemClock, type Clock } from "./clock.js";
export { runComponents, runnableComponent, type Component } from "./component.js";
export { CodedError } from "./coded-error.js";
export type { Context, ServingContext } from "./context.js";
export { cut, cutToBytes } from "./cut.js";
export { errorCode } from "./error-code.js";
export { ScrapedCounter } from "./scraped-counter.js";
export type { Sample } from "./metrics-text.js";
export { ScrapedHistogram, type HistogramSeries } from "./scraped-histogram.js";
export {
  defineMetrics,
  type Metric,
  type MetricDefinition,
  type MetricsOf,
  type StageMetrics,
} from "./define-metrics.js";
export { HotHistogram } from "./hot-histogram.js";
export { label, type Label, type LabelValue } from "./labelled-values.js";
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
  type ReportGauge,
} from "./metric-kinds.js";
export { GatheredBytes } from "./gathered-bytes.js";
export { SetMultimap } from "./set-multimap.js";
export { createLogger, type Logger } from "./logger.js";
export { managementHandler, type Readiness } from "./management-handler.js";
export { Counter, createRegistry, Gauge, Histogram, Registry, renderMetricsReference } from "./metrics.js";
export { buildInfo, processMetrics } from "./process-metrics.js";
export { kubeconfigOptions, serviceAccountOption } from "./options/kubeconfig-options.js";
export { serviceOptions } from "./options/service-options.js";
export {
  flagName,
  givenFlags,
  option,
  optionGroup,
  publicOptions,
  type OptionSpec,
  type OptionsOf,
  type OptionTable,
} from "./options/option.js";
export { readOptions } from "./options/read-options.js";
export { renderOptionsReference } from "./options/render-reference.js";
export {
  byteSize,
  byteSizeOrAuto,
  choice,
  duration,
  integer,
  jsonText,
  list,
  longestMs,
  mapping,
  port,
  text,
  toggle,
  type DurationBounds,
  type ValueType,
} from "./options/value-types.js";
export { quoted } from "./quoted.js";
export { RateLimitedLog } from "./rate-limited-log.js";
export type { Runnable } from "./runnable.js";
export { Signal } from "./signal.js";
export { singleLine } from "./single-line.js";
export { readPemFile, readSmallFile, stampOfFile } from "./small-file.js";
export { tokenSyntax } from "./token-syntax.js";
export { mostUnreadBytes } from "./unread-bytes.js";
export { heapLimitBytes, usedHeapBytes } from "./memory/heap.js";
export { HeapRoom, type DocumentRoom } from "./memory/heap-room.js";
export { canCollect, collectAtPercent, collectGarbage, setV8Flags } from "./memory/v8-control.js";
export { WatchedFiles, type ReloadOptions } from "./watched-files.js";
export { within } from "./within.js";
export { Overdue } from "./scheduling/overdue.js";
export {
  Backoff,
  type BackoffOptions,
  currentTurn,
  Deadlines,
  Expiries,
  FairQueue,
  forEachInSlices,
  nextTurn,
  onNextTurn,
  type Rate,
  runInSlices,
  Semaphore,
  shareInFlight,
  type SliceOptions,
  Sweep,
  TokenBucket,
  type Work,
  WorkQueue,
  type WorkQueueMetrics,
  type WorkQueueOptions,
  type WorkResult,
} from "./scheduling.js";
