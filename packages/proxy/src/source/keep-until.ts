/** Keeps a value in a map until the signal aborts, or another takes its place. `ended` is called with the abort in either case. */
export function keepUntil<Key, Value>(
  signal: AbortSignal,
  map: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  ended: () => void = () => undefined,
): void {
  map.set(key, value);
  const end = (): void => {
    if (map.get(key) === value) map.delete(key);
    ended();
  };
  signal.addEventListener("abort", end, { once: true });
}
