/** The scheduling tools alone, for the command line, which must start without the logger and the metrics of the services. */
export { Backoff, type BackoffOptions } from "./scheduling/backoff.js";
export { Deadlines } from "./scheduling/deadlines.js";
export { currentTurn, nextTurn, onNextTurn } from "./scheduling/event-loop.js";
export { Expiries } from "./scheduling/expiries.js";
export { FairQueue } from "./scheduling/fair-queue.js";
export { Semaphore } from "./scheduling/semaphore.js";
export { shareInFlight } from "./scheduling/share-in-flight.js";
export { forEachInSlices, runInSlices, type SliceOptions } from "./scheduling/slices.js";
export { Sweep } from "./scheduling/sweep.js";
export { TokenBucket, type Rate } from "./scheduling/token-bucket.js";
export {
  WorkQueue,
  type Work,
  type WorkQueueMetrics,
  type WorkQueueOptions,
  type WorkResult,
} from "./scheduling/work-queue.js";
