/**
 * How many times more CPU an act takes for `factor` times as much: about `factor` if its cost is linear, and the square of that if it is quadratic.
 * Both are measured here and now, so that a slow or busy machine changes neither the answer nor what a test asserts of it.
 */
export async function cpuGrowth(
  size: number,
  factor: number,
  act: (size: number) => unknown,
): Promise<number> {
  // Compiled by then.
  await act(size);
  return (await leastCpu(() => act(size * factor))) / (await leastCpu(() => act(size)));
}

/** In microseconds. The least of some tries: what the rest took beside it is garbage collected and code compiled. */
export async function leastCpu(act: () => unknown): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage();
    await act();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return Math.max(1, least);
}
