import { Random } from "../fixtures/random.js";
import { percentile } from "../support/statistics.js";

export interface AddedTime {
  /** The percentile of the one, less that of the other. */
  readonly ms: number;
  /** Where 95 of 100 such measurements would be, by resampling the rounds. */
  readonly lowMs: number;
  readonly highMs: number;
}

const resamples = 400;

/**
 * How much longer one way takes than another at a percentile. Of 2,000 times the 99th percentile is the twentieth from the top, and so a matter of chance: the
 * interval says by how much.
 *
 * @param times of the rounds, each the other's pair
 */
export function addedTime(times: readonly number[], others: readonly number[], share: number): AddedTime {
  const random = new Random(1);
  const differences = Float64Array.from({ length: resamples }, () => {
    const picked = Array.from(times, () => random.below(times.length));
    const at = (of: readonly number[]): number =>
      percentile(Float64Array.from(picked, (index) => of[index] ?? NaN).sort(), share);
    return at(times) - at(others);
  }).sort();
  const at = (of: readonly number[]): number => percentile(Float64Array.from(of).sort(), share);
  return {
    ms: at(times) - at(others),
    lowMs: percentile(differences, 0.025),
    highMs: percentile(differences, 0.975),
  };
}
