/** What a label says for values beyond its bound. */
export const otherLabel = "other";

/**
 * Metric labels of words that clients choose: the first `max` different ones as they are, all others as "other", so that nobody can make
 * the process remember names without end.
 */
export function boundedLabels(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max || value.length > 256) return otherLabel;
    known.add(value);
    return value;
  };
}
