import { Distribution, type HistogramSeries } from "@bunting/runtime";

/** The bounds of histograms: those of OpenTelemetry. */
export const durationBoundsMs = [5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000];
export const sizeBounds = [100, 1_000, 10_000, 100_000, 1_000_000];

export type TallyLabels = Readonly<Record<string, string>>;

/** What is counted of the requests that have the same labels. */
export class RequestTally {
  readonly durationMs = new Distribution(durationBoundsMs);
  readonly requestBytes = new Distribution(sizeBounds);
  readonly responseBytes = new Distribution(sizeBounds);
  readonly labels: TallyLabels;
  open = 0;

  constructor(labels: TallyLabels) {
    this.labels = labels;
  }
}

/** The key of the tally of everything beyond a limit; no other key is empty. */
const overflowKey = "";

/** The tally of a key. Beyond `max` keys, new ones share one, which is created with `isOverflow`. */
export function tallyOf<Tally>(
  tallies: Map<string, Tally>,
  key: string,
  max: number,
  create: (isOverflow: boolean) => Tally,
): Tally {
  let tally = tallies.get(key);
  if (tally !== undefined) return tally;
  const isOverflow = tallies.size >= max;
  if (isOverflow) tally = tallies.get(overflowKey);
  if (tally === undefined) tallies.set(isOverflow ? overflowKey : key, (tally = create(isOverflow)));
  return tally;
}

/** The series of a histogram. @param divisor of sums, where they are kept in a smaller unit. */
export function* seriesOf<Tally extends RequestTally>(
  tallies: Iterable<Tally>,
  of: (tally: Tally) => Distribution,
  { divisor = 1, labelsOf = ({ labels }: Tally) => labels } = {},
): Iterable<HistogramSeries> {
  for (const tally of tallies) {
    const { counts, sum } = of(tally);
    yield { labels: labelsOf(tally), counts, sum: sum / divisor };
  }
}
