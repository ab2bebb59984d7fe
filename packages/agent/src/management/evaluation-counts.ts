import { ScrapedCounter, type Registry, type Sample } from "@bunting/runtime";

/** The limit of series in a metric, as in flagd, for all protocols together; evaluations beyond it are counted in one series marked as overflow. */
const maxSeries = 2_000;
/** Of a flag's key and its variant together; evaluations with longer ones are counted as overflow. A series is written at every scrape. */
const maxLabelCharacters = 256;

interface Tally {
  readonly flagKey: string;
  readonly reason: string;
  readonly variant: string;
  count: number;
}

/** How many series a metric has. */
interface SeriesCount {
  series: number;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Counts evaluations by flag, reason and variant. It runs at every evaluation and touches only maps and a number; labels
 * are built when Prometheus scrapes.
 */
export class EvaluationCounts {
  /** On every series. */
  readonly #labels: Labels;
  readonly #byFlag = new Map<string, Map<string, Tally[]>>();
  readonly #failures = new Map<string, number>();
  readonly #metric: SeriesCount;
  #overflow = 0;

  /** @param metric is shared by all counts that are registered together. */
  constructor(labels: Labels, metric: SeriesCount) {
    this.#labels = labels;
    this.#metric = metric;
  }

  /** The metrics of all these counts. */
  static register(registry: Registry, all: readonly EvaluationCounts[]): void {
    const registers = [registry];
    new ScrapedCounter(
      {
        name: "feature_flag_flagd_impression_total",
        help: "Evaluations by flag, variant and reason; those over OFREP, which flagd does not count, have a label of their own.",
        labelNames: [
          "feature_flag_key",
          "feature_flag_result_variant",
          "feature_flag_reason",
          "feature_flag_provider_name",
          "protocol",
          "otel_metric_overflow",
        ],
        registers,
      },
      () => EvaluationCounts.#all(all, (counts) => counts.#impressions()),
    );
    new ScrapedCounter(
      {
        name: "feature_flag_flagd_result_reason_total",
        help: "Evaluations by flag and reason; failed ones have reason ERROR and name the error instead of the flag.",
        labelNames: [
          "feature_flag_key",
          "feature_flag_reason",
          "feature_flag_provider_name",
          "ExceptionTypeKeyName",
          "protocol",
          "otel_metric_overflow",
        ],
        registers,
      },
      () => EvaluationCounts.#all(all, (counts) => counts.#reasons()),
    );
  }

  static *#all(
    all: readonly EvaluationCounts[],
    samples: (counts: EvaluationCounts) => Iterable<Sample>,
  ): Iterable<Sample> {
    for (const counts of all) {
      yield* samples(counts);
      if (counts.#overflow > 0)
        yield { labels: { ...counts.#protocol(), otel_metric_overflow: "true" }, value: counts.#overflow };
    }
  }

  evaluated(flagKey: string, reason: string, variant: string): void {
    const tallies = this.#byFlag.get(flagKey)?.get(variant);
    if (tallies !== undefined) {
      for (const tally of tallies) {
        if (tally.reason === reason) {
          tally.count++;
          return;
        }
      }
    }
    this.#begin(flagKey, reason, variant);
  }

  failed(errorCode: string): void {
    this.#failures.set(errorCode, (this.#failures.get(errorCode) ?? 0) + 1);
  }

  #begin(flagKey: string, reason: string, variant: string): void {
    if (this.#metric.series >= maxSeries || flagKey.length + variant.length > maxLabelCharacters) {
      this.#overflow++;
      return;
    }
    this.#metric.series++;
    const byVariant = this.#byFlag.get(flagKey) ?? new Map<string, Tally[]>();
    this.#byFlag.set(flagKey, byVariant);
    byVariant.set(variant, [...(byVariant.get(variant) ?? []), { flagKey, reason, variant, count: 1 }]);
  }

  #protocol(): Labels {
    return Object.fromEntries(Object.entries(this.#labels).filter(([name]) => name === "protocol"));
  }

  *#impressions(): Iterable<Sample> {
    for (const byVariant of this.#byFlag.values()) {
      for (const tallies of byVariant.values()) {
        for (const { flagKey, reason, variant, count } of tallies) {
          const labels = { feature_flag_key: flagKey, feature_flag_reason: reason };
          yield {
            labels: { ...this.#labels, ...labels, feature_flag_result_variant: variant },
            value: count,
          };
        }
      }
    }
  }

  *#reasons(): Iterable<Sample> {
    for (const [flagKey, byVariant] of this.#byFlag) {
      const byReason = new Map<string, number>();
      for (const tallies of byVariant.values()) {
        for (const { reason, count } of tallies) byReason.set(reason, (byReason.get(reason) ?? 0) + count);
      }
      for (const [reason, value] of byReason)
        yield { labels: { ...this.#labels, feature_flag_key: flagKey, feature_flag_reason: reason }, value };
    }
    for (const [errorCode, value] of this.#failures)
      yield {
        labels: { ...this.#labels, feature_flag_reason: "ERROR", ExceptionTypeKeyName: errorCode },
        value,
      };
  }
}
