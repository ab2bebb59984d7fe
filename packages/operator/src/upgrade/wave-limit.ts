/**
 * How many Pods may be begun with in all, when so many have come to an end: first one, then a hundredth of all, then a tenth, then the rest. A wave
 * begins when all of those before have ended.
 */
export function waveLimit(desired: number, ended: number): number {
  let limit = 0;
  for (const size of [1, Math.ceil(desired / 100), Math.ceil(desired / 10)]) {
    limit += size;
    if (ended < limit) return limit;
  }
  return Infinity;
}
