import { OutboundClient } from "@bunting/outbound";
import { isAborted, sleep } from "@bunting/runtime";
import { HttpFailure } from "@bunting/sync-client/http";
import { failureOf } from "./remote-error.js";
import { RemoteWaits } from "./remote-waits.js";
import type { RemoteFlags, RemoteKind, RemoteReading, RemoteSurroundings } from "./remote-kind.js";

/** Many FeatureFlags of one remote, applied together, ask apart from each other; and never later than the interval says. */
const jitter = 0.1;

/** Asks a remote once; what is known from one question to the next is its own. */
export type AskRemote = (signal: AbortSignal) => Promise<RemoteFlags>;

/** Remotes that are asked again and again over HTTP. */
export function polledRemote(
  surroundings: RemoteSurroundings,
  begin: (client: OutboundClient, reading: RemoteReading) => AskRemote,
): RemoteKind {
  return {
    run: async (reading, signal) => {
      const { guard, clock } = surroundings;
      const client = new OutboundClient({ guard: guard.of(reading.owner), ca: reading.ca, clock });
      try {
        await poll(begin(client, reading), reading, surroundings, signal);
      } finally {
        client.close();
      }
    },
  };
}

/** Asks until the signal aborts, and tells what came of it. */
async function poll(
  ask: AskRemote,
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
