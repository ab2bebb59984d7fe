import { Counter, type Registry } from "@bunting/runtime";

/** The limit of series in a metric, as in flagd; evaluations beyond it are counted in one series marked as overflow. */
const maxSeries = 2_000;

interface Tally {
  readonly flagKey: string;
  readonly reason: string;
  readonly variant: string;
  count: number;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Counts evaluations by flag, reason and variant. It runs at every evaluation and touches only maps and a number; the counters of
 * prom-client, which check and hash labels, are filled when Prometheus scrapes.
 */
export class EvaluationCounts {
  /** On every series. */
  readonly #labels: Labels;
  readonly #byFlag = new Map<string, Map<string, Tally[]>>();
  readonly #failures = new Map<string, number>();
  #series = 0;
  #overflow = 0;

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  /** The metrics of all these counts. */
  static register(registry: Registry, all: readonly EvaluationCounts[]): void {
    const registers = [registry];
    new Counter({
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
      collect() {
        this.reset();
        for (const counts of all) {
          for (const { flagKey, reason, variant, count } of counts.#tallies()) {
            const labels = { feature_flag_key: flagKey, feature_flag_reason: reason };
            this.inc({ ...counts.#labels, ...labels, feature_flag_result_variant: variant }, count);
          }
          if (counts.#overflow > 0)
            this.inc({ ...counts.#protocol(), otel_metric_overflow: "true" }, counts.#overflow);
        }
      },
    });
    new Counter({
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
      collect() {
        this.reset();
        for (const counts of all) {
          for (const { flagKey, reason, count } of counts.#tallies()) {
            this.inc({ ...counts.#labels, feature_flag_key: flagKey, feature_flag_reason: reason }, count);
          }
          for (const [errorCode, count] of counts.#failures) {
            this.inc(
              { ...counts.#labels, feature_flag_reason: "ERROR", ExceptionTypeKeyName: errorCode },
              count,
            );
          }
          if (counts.#overflow > 0)
            this.inc({ ...counts.#protocol(), otel_metric_overflow: "true" }, counts.#overflow);
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

  #protocol(): Labels {
    return Object.fromEntries(Object.entries(this.#labels).filter(([name]) => name === "protocol"));
  }

  *#tallies(): IterableIterator<Tally> {
    for (const byVariant of this.#byFlag.values()) for (const tallies of byVariant.values()) yield* tallies;
  }
}
