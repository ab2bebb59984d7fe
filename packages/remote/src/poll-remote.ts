import { isAborted, sleep } from "@bunting/runtime";
import { HttpFailure } from "@bunting/sync-client/http";
import { failureOf } from "./remote-error.js";
import { RemoteWaits } from "./remote-waits.js";
import type { RemoteFlags, RemoteReading, RemoteSurroundings } from "./remote-kind.js";

/** Many FeatureFlags of one remote, applied together, ask apart from each other; and never later than the interval says. */
const jitter = 0.1;

/** Asks again and again until the signal aborts, and tells what came of it. */
export async function pollRemote(
  ask: (signal: AbortSignal) => Promise<RemoteFlags>,
  { provider, onFlags, onFailure }: RemoteReading,
  { clock, random = Math.random }: RemoteSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { intervalMs } = provider;
  const waits = new RemoteWaits(intervalMs, random);
  while (!signal.aborted) {
    let waitMs = intervalMs * (1 - jitter * random());
    try {
      onFlags(await ask(signal));
      waits.reset();
    } catch (error) {
      if (isAborted(signal)) return;
      onFailure(failureOf(error));
      const { code, retryAfterMs } = error instanceof HttpFailure ? error : { code: "", retryAfterMs: 0 };
      waitMs = waits.next(code === "unauthorized" || code === "forbidden", retryAfterMs);
    }
    await sleep(waitMs, signal, clock);
  }
}
