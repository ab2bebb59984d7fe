import { canCollect, collectGarbage } from "./v8-control.js";

const everyMs = 4_000;
/** Processor time in an interval, 5 % of a core, below which the process is at rest. */
const restMs = everyMs / 20;
/** Collections take at most one part in so many of the processor time. */
const collectionParts = 20;
/** The least processor time after which there is something to collect. */
const leastWorkMs = 500;

/**
 * Collects garbage once the process rests after work, and has V8 return to the system what that work took: V8 keeps pages that it has emptied, and in Node 24
 * a process that does little more than wait never gets to the collection that would give them back. Does nothing without --expose-gc, which the images set.
 *
 * Affects the whole process, permanently: only main.ts may call it.
 */
export function collectAtRest(): void {
  if (!canCollect()) return;
  const look = atRest(busyMs, () => collectGarbage("last-resort"));
  setInterval(look, everyMs).unref();
}

/**
 * Returns what is called at each interval, and collects if it is time to.
 *
 * @param busyMs processor time of the process so far
 */
export function atRest(busyMs: () => number, collect: () => void): () => void {
  let lookedAtMs = busyMs();
  let collectedAtMs = 0;
  let worthMs = leastWorkMs;
  return () => {
    const nowMs = busyMs();
    const isAtRest = nowMs - lookedAtMs <= restMs;
    lookedAtMs = nowMs;
    if (!isAtRest || nowMs - collectedAtMs < worthMs) return;
    collect();
    lookedAtMs = collectedAtMs = busyMs();
    worthMs = Math.max(leastWorkMs, (collectedAtMs - nowMs) * (collectionParts - 1));
  };
}

function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
