/** The label of all values beyond the limit. */
export const otherLabel = "other";

/**
 * Metric labels from values that clients choose: the first `max` distinct values as they are, all others as "other", so that a client
 * can't make the process remember values without limit.
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
