import type { FlagDocument } from "@bunting/protocol";
import { Backoff, isAborted, sleep } from "@bunting/runtime";
import { HttpFailure } from "@bunting/sync-client/http";
import { failureOf } from "./remote-error.js";
import type { RemoteReading, RemoteSurroundings } from "./remote-kind.js";

/** Many FeatureFlags of one remote, applied together, ask apart from each other; and never later than the interval says. */
const jitter = 0.1;
const retryFirstMs = 1_000;
const retryCapMs = 60_000;
/** Who is refused asks from once a minute on, less and less often: some servers lock callers out who insist. */
const refusedFirstMs = 60_000;
const refusedCapMs = 15 * 60_000;
/** The longest wait that a server may ask for. */
const retryAfterCapMs = 3_600_000;

/** Asks again and again until the signal aborts, and tells what came of it. */
export async function pollRemote(
  ask: (signal: AbortSignal) => Promise<FlagDocument>,
  { provider, onDocument, onFailure }: RemoteReading,
  { clock, random = Math.random }: RemoteSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { intervalMs } = provider;
  const retry = new Backoff({
    firstMs: Math.min(retryFirstMs, intervalMs),
    capMs: Math.min(retryCapMs, intervalMs),
    random,
  });
  // Twice the wait, because the backoff takes from a half of it on.
  const refused = new Backoff({ firstMs: 2 * refusedFirstMs, capMs: 2 * refusedCapMs, random });
  while (!signal.aborted) {
    let waitMs = intervalMs * (1 - jitter * random());
    try {
      onDocument(await ask(signal));
      retry.reset();
      refused.reset();
    } catch (error) {
      if (isAborted(signal)) return;
      onFailure(failureOf(error));
      const { code, retryAfterMs = 0 } = error instanceof HttpFailure ? error : { code: "", retryAfterMs: 0 };
      const isRefused = code === "unauthorized" || code === "forbidden";
      waitMs = Math.max(isRefused ? refused.next() : retry.next(), Math.min(retryAfterMs, retryAfterCapMs));
    }
    await sleep(waitMs, signal, clock);
  }
}
