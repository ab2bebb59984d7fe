import { sleep, untilAny, type Clock, type Signal } from "@bunting/runtime";
import type { SourceStatus } from "../sync/sync-source.js";

export interface GenerationAnswersOptions {
  /** Sources of which nothing is held, by their places. */
  readonly unread: ReadonlySet<number>;
  readonly answered: Signal<number>;
  readonly status: () => readonly SourceStatus[];
  /** How long a proxy that can be reached is waited for, in ms. */
  readonly patienceMs: number;
  readonly clock: Clock;
}

const lookEveryMs = 500;

/**
 * Resolves when each of these sources has answered, or the proxy that they are of could have told them its answers for long enough. While it can't be
 * reached no time passes: it may have gone because it is replaced, and what is served meanwhile is better than nothing. Resolves when the signal aborts, too.
 */
export async function generationAnswers(
  { unread, answered, status, patienceMs, clock }: GenerationAnswersOptions,
  signal: AbortSignal,
): Promise<void> {
  const left = new Set(unread);
  const all = new AbortController();
  const stopListening = answered.listen((sourceIndex) => {
    if (left.delete(sourceIndex) && left.size === 0) all.abort();
  });
  let reachedMs: number | undefined;
  await untilAny([signal, all.signal], async (until) => {
    while (left.size > 0 && !until.aborted) {
      const nowMs = clock.monotonicMs();
      reachedMs = isReached(status(), left) ? (reachedMs ?? nowMs) : undefined;
      if (reachedMs !== undefined && nowMs - reachedMs >= patienceMs) break;
      await sleep(lookEveryMs, until, clock);
    }
  });
  stopListening();
}

/** Also by streams of other sources of the same proxy: it may have no room for more. */
function isReached(sources: readonly SourceStatus[], places: ReadonlySet<number>): boolean {
  const proxies = new Set(sources.flatMap(({ sourceIndex, uri }) => (places.has(sourceIndex) ? [uri] : [])));
  return sources.some(
    ({ uri, state, cause }) =>
      proxies.has(uri) && (state === "connected" || (cause !== undefined && cause !== "unreachable")),
  );
}
