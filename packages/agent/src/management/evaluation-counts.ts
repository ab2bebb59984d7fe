import { Counter, type Registry } from "@bunting/runtime";

/** The limit of series in a metric, as in flagd; evaluations beyond it are counted in one series marked as overflow. */
const maxSeries = 2_000;

interface Tally {
  readonly flagKey: string;
  readonly reason: string;
  readonly variant: string;
  count: number;
}

/**
 * Counts evaluations by flag, reason and variant. It runs at every evaluation and touches only maps and a number; the counters of
 * prom-client, which check and hash labels, are filled when Prometheus scrapes.
 */
export class EvaluationCounts {
  readonly #byFlag = new Map<string, Map<string, Tally[]>>();
  readonly #failures = new Map<string, number>();
  #series = 0;
  #overflow = 0;

  constructor(registry: Registry) {
    const tallies = (): Iterable<Tally> => this.#tallies();
    const overflow = (): number => this.#overflow;
    const failures = this.#failures;
    new Counter({
      name: "feature_flag_flagd_impression_total",
      help: "Evaluations by flag, variant and reason.",
      labelNames: [
        "feature_flag_key",
        "feature_flag_result_variant",
        "feature_flag_reason",
        "feature_flag_provider_name",
        "otel_metric_overflow",
      ],
      registers: [registry],
      collect() {
        this.reset();
        for (const { flagKey, reason, variant, count } of tallies()) {
          this.inc(
            {
              feature_flag_key: flagKey,
              feature_flag_result_variant: variant,
              feature_flag_reason: reason,
              feature_flag_provider_name: "flagd",
            },
            count,
          );
        }
        if (overflow() > 0) this.inc({ otel_metric_overflow: "true" }, overflow());
      },
    });
    new Counter({
      name: "feature_flag_flagd_result_reason_total",
      help: "Evaluations by reason; failed ones have reason ERROR and name the error.",
      labelNames: ["feature_flag_reason", "feature_flag_provider_name", "exception_type"],
      registers: [registry],
      collect() {
        this.reset();
        for (const { reason, count } of tallies()) {
          this.inc({ feature_flag_reason: reason, feature_flag_provider_name: "flagd" }, count);
        }
        for (const [errorCode, count] of failures) {
          const labels = { feature_flag_reason: "ERROR", feature_flag_provider_name: "flagd" };
          this.inc({ ...labels, exception_type: errorCode }, count);
        }
      },
    });
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
    if (this.#series >= maxSeries) {
      this.#overflow++;
      return;
    }
    this.#series++;
    const byVariant = this.#byFlag.get(flagKey) ?? new Map<string, Tally[]>();
    this.#byFlag.set(flagKey, byVariant);
    byVariant.set(variant, [...(byVariant.get(variant) ?? []), { flagKey, reason, variant, count: 1 }]);
  }

  *#tallies(): IterableIterator<Tally> {
    for (const byVariant of this.#byFlag.values()) for (const tallies of byVariant.values()) yield* tallies;
  }
}
