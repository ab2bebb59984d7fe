/**
 * How long after `nowMs` (since the epoch) the next poll is due. Without a seed that is one interval. With a seed polls are at fixed times, as
 * in flagd: on the multiples of the interval since midnight, moved by as much as the seed says.
 */
export function nextPollMs(nowMs: number, intervalMs: number, seed: string): number {
  if (seed === "") return intervalMs;
  const offsetMs = (fnv32a(seed) % (intervalMs / 1_000)) * 1_000;
  const midnight = new Date(nowMs).setHours(0, 0, 0, 0);
  const sinceLastMs = (nowMs - midnight - offsetMs + intervalMs) % intervalMs;
  return intervalMs - sinceLastMs;
}

function fnv32a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
