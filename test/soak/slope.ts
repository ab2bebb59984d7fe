export interface Sample {
  /** Since the beginning. */
  readonly minutes: number;
  readonly megabytes: number;
}

/**
 * The median of the slopes between any two samples (Theil and Sen). A few samples far off the line do not turn it, as those of a proxy that holds what frozen
 * agents have not read.
 */
export interface Slope {
  readonly megabytesAnHour: number;
  /** By which the slope may well be wrong, because sizes go up and down around the line; Infinity for fewer than three samples. */
  readonly standardError: number;
}

export function slopeOf(samples: readonly Sample[]): Slope {
  const slopes = samples
    .flatMap((one, index) => samples.slice(index + 1).flatMap((other) => slopeBetween(one, other)))
    .sort((a, b) => a - b);
  const at = (share: number): number => slopes[Math.round(share * (slopes.length - 1))] ?? 0;
  const megabytesAnHour = at(0.5);
  const count = samples.length;
  if (count < 3 || slopes.length === 0) return { megabytesAnHour, standardError: Infinity };
  // Of Kendall's rank correlation: how many of the slopes may be on the wrong side of the true one.
  const deviation = Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18) / slopes.length;
  const [low, high] = [at(Math.max(0, (1 - deviation) / 2)), at(Math.min(1, (1 + deviation) / 2))];
  return { megabytesAnHour, standardError: (high - low) / 2 };
}

/** In megabytes an hour; nothing for samples of one time. */
function slopeBetween(one: Sample, other: Sample): readonly number[] {
  const minutes = other.minutes - one.minutes;
  return minutes === 0 ? [] : [((other.megabytes - one.megabytes) / minutes) * 60];
}
