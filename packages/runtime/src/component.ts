import { aborted, untilAny } from "./aborted.js";
import { RuntimeError } from "./runtime-error.js";
import type { Runnable } from "./runnable.js";
import { within } from "./within.js";

/** A part of a process that is started and stopped. The order of the list is the start order, and in reverse the stop order. */
export interface Component {
  readonly name: string;
  /** Reason for its place in the list. */
  readonly reason: string;
  /**
   * Resolves once it is running; it calls `fail` if it breaks later and the process can't continue. When the signal aborts, nothing is started
   * after it: one that waits for something has to resolve.
   */
  start(fail: (error: unknown) => void, signal: AbortSignal): Promise<void> | void;
  /** Releases everything that `start` took. Called only if `start` was. */
  stop(): Promise<void> | void;
}

export interface RunComponentsOptions {
  /** Time for one component to stop before it is abandoned, in ms. */
  readonly stopTimeoutMs: number;
}

/**
 * Starts components in order, waits until the signal aborts or one fails, and stops those that were started in reverse order. A single
 * error is thrown as it is, several as an AggregateError.
 */
export async function runComponents(
  components: readonly Component[],
  signal: AbortSignal,
  options: RunComponentsOptions,
): Promise<void> {
  const errors: unknown[] = [];
  const started: Component[] = [];
  const failed = new AbortController();
  const fail = (error: unknown): void => {
    errors.push(error);
    failed.abort();
  };
  await untilAny([signal, failed.signal], async (until) => {
    for (const component of components) {
      if (until.aborted) return;
      started.unshift(component);
      await component.start(fail, until);
    }
    await aborted(until);
  }).catch((error: unknown) => errors.push(error));
  for (const component of started)
    await withTimeout(component, options.stopTimeoutMs).catch((error: unknown) => errors.push(error));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1)
    throw new AggregateError(errors, errors.map((error) => (error as Error).message).join("; "));
}

/** A Runnable as a component: `run` continues in the background until `stop` aborts it. */
export function runnableComponent(runnable: Runnable, reason: string): Component {
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    name: runnable.name,
    reason,
    start: (fail) => {
      running = runnable.run(abort.signal).catch(fail);
    },
    stop: () => {
      abort.abort();
      return running;
    },
  };
}

/** Components that start in order, as one, and stop at the same time, for those that wait while they stop and for nothing of each other. */
export function stoppedTogether(name: string, reason: string, components: readonly Component[]): Component {
  const started: Component[] = [];
  return {
    name,
    reason,
    start: async (fail, signal) => {
      for (const component of components) {
        if (signal.aborted) return;
        started.push(component);
        await component.start(fail, signal);
      }
    },
    stop: async () => {
      const ends = await Promise.allSettled(started.map(async (component) => component.stop()));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

async function withTimeout(component: Component, timeoutMs: number): Promise<void> {
  if (await within(timeoutMs, Promise.resolve(component.stop()))) return;
  const message = `${component.name} did not stop within ${timeoutMs} ms and was abandoned`;
  throw new RuntimeError("STOP_TIMED_OUT", message);
}
