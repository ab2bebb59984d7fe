export interface Sample {
  /** Since the beginning. */
  readonly minutes: number;
  readonly megabytes: number;
}

/** A straight line with the least squares through samples. */
export interface Slope {
  readonly megabytesAnHour: number;
  /** By which the slope may well be wrong, because sizes go up and down around the line; Infinity for fewer than three samples. */
  readonly standardError: number;
}

export function slopeOf(samples: readonly Sample[]): Slope {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [atMean, sizeMean] = [mean(({ minutes }) => minutes), mean(({ megabytes }) => megabytes)];
  let [covariance, variance] = [0, 0];
  for (const { minutes, megabytes } of samples) {
    covariance += (minutes - atMean) * (megabytes - sizeMean);
    variance += (minutes - atMean) ** 2;
  }
  if (!(variance > 0)) return { megabytesAnHour: 0, standardError: Infinity };
  const aMinute = covariance / variance;
  const squares = samples.reduce(
    (sum, { minutes, megabytes }) => sum + (megabytes - sizeMean - aMinute * (minutes - atMean)) ** 2,
    0,
  );
  const error = samples.length < 3 ? Infinity : Math.sqrt(squares / (samples.length - 2) / variance);
  return { megabytesAnHour: aMinute * 60, standardError: error * 60 };
}
