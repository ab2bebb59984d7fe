export interface Sample {
  /** Since the beginning. */
  readonly minutes: number;
  readonly megabytes: number;
}

/** Slope of the straight line with the least squares through the samples; 0 for fewer than two. */
export function megabytesAnHour(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [atMean, sizeMean] = [mean(({ minutes }) => minutes), mean(({ megabytes }) => megabytes)];
  let [covariance, variance] = [0, 0];
  for (const { minutes, megabytes } of samples) {
    covariance += (minutes - atMean) * (megabytes - sizeMean);
    variance += (minutes - atMean) ** 2;
  }
  return variance === 0 || Number.isNaN(variance) ? 0 : (covariance / variance) * 60;
}
