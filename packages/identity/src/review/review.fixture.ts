import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError, type RawRequest } from "@bunting/kube";
import { ReviewQueue, type ReviewQueueLimits, type ReviewQueueOptions } from "./review-queue.js";
import type { ReviewClient } from "./reviewer-options.js";

/** An API server that answers each request with what `answer` returns, or with an error. */
export class ScriptedApi implements ReviewClient {
  readonly requests: RawRequest[] = [];
  answer: (request: RawRequest) => unknown = () => ({});
  /** Set: every request fails with it. */
  failure: KubeError["code"] | undefined;
  /** True: requests are not answered until they are aborted. */
  isSilent = false;

  async raw(request: RawRequest, signal: AbortSignal): Promise<unknown> {
    this.requests.push(request);
    await nextTurn();
    if (this.isSilent)
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new KubeError("ABORTED", "aborted")), { once: true });
      });
    if (this.failure !== undefined) throw new KubeError(this.failure, `the test answers ${this.failure}`);
    return this.answer(request);
  }

  /** The requests since the last call. */
  taken(): RawRequest[] {
    return this.requests.splice(0);
  }
}

export interface QueueUnderTest {
  readonly clock: ManualClock;
  readonly api: ScriptedApi;
  readonly queue: ReviewQueue;
  /** Lines logged, by message. */
  readonly logged: string[];
  /** The one that the queue runs until. */
  readonly signal: AbortSignal;
  stop(): void;
}

export function queueUnderTest(
  options: Partial<Pick<ReviewQueueOptions, "permission" | keyof ReviewQueueLimits>> & {
    clock?: ManualClock;
  } = {},
): QueueUnderTest {
  const { clock = new ManualClock() } = options;
  const logged: string[] = [];
  const log = (_fields: unknown, message?: string): void => {
    logged.push(message ?? String(_fields));
  };
  const queue = new ReviewQueue({
    permission: "create on reviews",
    logger: { info: log, warn: log, error: log },
    random: () => 1,
    ...options,
    clock,
  });
  const stop = new AbortController();
  void queue.run(stop.signal);
  const { signal } = stop;
  return { clock, api: new ScriptedApi(), queue, logged, signal, stop: () => stop.abort() };
}

/** Lets everything happen that waits for no time to pass. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}
