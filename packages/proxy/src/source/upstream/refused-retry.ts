const defaultMs = 5_000;
const capMs = 60_000;

/**
 * How long to wait before a topic that was refused is asked for again.
 *
 * @param askedMs what the upstream asks for; 0 if it does not say
 */
export function refusedRetryMs(askedMs: number): number {
  return Math.min(askedMs === 0 ? defaultMs : askedMs, capMs);
}
