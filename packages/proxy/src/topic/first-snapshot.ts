import type { TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { Subscriber } from "./subscription.js";
import type { TopicRegistry } from "./topic-registry.js";

export interface FirstSnapshotOptions {
  readonly clock: Clock;
  /** Time for which a missing document is waited for. */
  readonly timeoutMs: number;
  /** Its signal ends the wait; it is read only if there is something to wait for. */
  readonly caller: { readonly signal: AbortSignal };
  /** The topic is charged to this connection. */
  readonly connection?: TransportSession;
}

/**
 * The newest snapshot of a topic, for a caller that wants just one: a subscription that ends with its first snapshot.
 *
 * @throws ProxyError TOPIC_MISSING if there is none after the timeout, or at once if the missing policy is `fail`; the error with which the
 * topic refuses its subscribers; CALLER_GONE when the caller's signal aborts.
 */
export async function firstSnapshot(
  topics: TopicRegistry,
  key: TopicKey,
  { clock, timeoutMs, caller, connection }: FirstSnapshotOptions,
): Promise<Snapshot> {
  let waiter: Subscriber | undefined;
  let cancelTimeout: (() => void) | undefined;
  const subscription = topics.subscribe(key, {
    ...(connection === undefined ? {} : { connection }),
    wake: () => waiter?.wake(),
    refuse: (error) => waiter?.refuse(error),
  });
  try {
    if (subscription.due !== undefined) return subscription.due;
    return await new Promise<Snapshot>((resolve, reject) => {
      const take = (): void => {
        if (subscription.due !== undefined) resolve(subscription.due);
      };
      waiter = { wake: take, refuse: reject };
      cancelTimeout = clock.after(timeoutMs, () => {
        const message = `there is no FeatureFlag ${key}, or its source did not say within ${timeoutMs / 1000} s`;
        reject(new ProxyError("TOPIC_MISSING", message));
      });
      const { signal } = caller;
      const onAbort = (): void => reject(new ProxyError("CALLER_GONE", "the caller went away"));
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  } finally {
    cancelTimeout?.();
    subscription.close();
  }
}
