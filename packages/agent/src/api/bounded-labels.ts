import { cut } from "@bunting/runtime";

/** Longer values are cut: each is written in every line of its series. */
const maxCharacters = 64;

/** The label of all values beyond the limit. */
export const otherLabel = "other";

/**
 * Metric labels from values that clients choose: the first `max` distinct values, cut to 64 characters, all others as "other", so that a client
 * can't make the process remember values without limit.
 */
export function boundedLabels(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (value.length > 256) return otherLabel;
    const label = cut(value, maxCharacters);
    if (known.has(label)) return label;
    if (known.size >= max) return otherLabel;
    known.add(label);
    return label;
  };
}
