import { WorkQueue, type Context, type Runnable, type Work, type WorkQueueMetrics } from "@bunting/runtime";
import type { ControllerMetrics } from "./controller-metrics.js";
import { FailureLog } from "./failure-log.js";

export interface ControllerOptions {
  /** For logs and metrics; one word: `proxy`. */
  readonly name: string;
  /**
   * Makes the cluster what it should be for a key, whatever has happened before: it reads everything that it needs, and is called again if it
   * rejects. It must pass the signal on to all that it waits for.
   */
  readonly reconcile: Work<string>;
  /** Keys that are worked on at a time. Default 1. */
  readonly concurrency?: number;
  readonly context: Context<ControllerMetrics>;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/** Waits after failures: from 1 s to 5 min. */
const backoff = { firstMs: 1_000, capMs: 300_000 };

/** The namespace of a key such as `namespace/name`; other keys are for themselves. */
function namespaceOf(key: string): string {
  const slash = key.lastIndexOf("/");
  return slash === -1 ? key : key.slice(0, slash);
}

/**
 * Runs a reconciler for keys, on a work queue: bursts of events cost one run, no key is worked on twice at a time, and namespaces take turns. There is no resync:
 * an informer reports every change, also those that it has missed. Keys may be added before `run`, which is called each time that this process
 * becomes the leader.
 */
export class Controller implements Runnable {
  readonly name: string;
  readonly #queue: WorkQueue<string>;

  constructor({ name, reconcile, concurrency = 1, context, random = Math.random }: ControllerOptions) {
    const { clock, metrics } = context;
    const failures = new FailureLog(name, context);
    this.name = name;
    this.#queue = new WorkQueue({
      name,
      work: async (key, signal) => {
        const result = await reconcile(key, signal);
        if (result?.isPutOff === true) return result;
        failures.succeeded(key);
        metrics.reconciled(name, "succeeded");
        return result;
      },
      concurrency,
      turnOf: namespaceOf,
      backoff: { ...backoff, random },
      clock,
      onError: (key, error, retryMs) => {
        metrics.reconciled(name, "failed");
        failures.failed(key, error, retryMs);
      },
      metrics: queueMetrics(name, metrics),
    });
  }

  /** True if no key waits for its turn or is worked on; keys may still come back at their time. */
  get isIdle(): boolean {
    return this.#queue.isIdle;
  }

  /**
   * Has the key worked on as soon as possible.
   *
   * @param namespace whose turn it takes, if an object there has made the work
   */
  add(key: string, namespace = namespaceOf(key)): void {
    this.#queue.add(key, namespace);
  }

  /** Has the key worked on after a while, or earlier if somebody else asks for that. */
  after(key: string, delayMs: number): void {
    this.#queue.after(key, delayMs);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal);
  }
}

function queueMetrics(name: string, metrics: ControllerMetrics): WorkQueueMetrics {
  return {
    depth: (keys) => metrics.queueDepth(name, keys),
    added: () => undefined,
    waited: (ms) => metrics.reconcileWaited(name, ms),
    worked: (ms) => metrics.reconcileTook(name, ms),
    retried: () => undefined,
  };
}
