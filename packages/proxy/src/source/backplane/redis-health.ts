import {
  DegradedMode,
  type BackplaneError,
  type DegradedState,
  type RedisConnection,
} from "@bunting/backplane";
import type { Clock, Logger } from "@bunting/runtime";
import type { BackplaneMetrics, BackplaneReport } from "./backplane-metrics.js";
import { reasonOf } from "./backplane-report.js";

export interface RedisHealthOptions {
  readonly connection: Pick<RedisConnection, "isUp" | "reason">;
  /** As of the backplane's options. */
  readonly stableMs: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly metrics: Pick<BackplaneMetrics, "backplaneState">;
  /** This replica relies on Redis from now on, or watches for itself. */
  readonly onChange: () => void;
}

/** With these Redis refuses everybody who writes, or this replica: it is as good as away. Other refusals are of a single key. */
const refusals: readonly string[] = ["REDIS_FULL", "REDIS_NOT_READY", "REDIS_DENIED", "REDIS_CLUSTERED"];

/** Whether this replica relies on Redis: there has to be a connection, and beats over it have to be taken. */
export class RedisHealth {
  readonly #options: RedisHealthOptions;
  readonly #degraded: DegradedMode;
  #sinceMs: number;
  /** Why Redis does not work although there is a connection. */
  #refusal: BackplaneError | undefined;

  constructor(options: RedisHealthOptions) {
    const { clock, metrics, stableMs } = options;
    this.#options = options;
    this.#sinceMs = clock.monotonicMs();
    this.#degraded = new DegradedMode({
      ...{ clock, stableMs },
      onChange: (state, before) => this.#changed(state, before),
    });
    metrics.backplaneState(this.#degraded.state);
  }

  get usesRedis(): boolean {
    return this.#degraded.state === "connected";
  }

  get report(): Pick<BackplaneReport, "state" | "stateMs" | "reason"> {
    const { clock, connection } = this.#options;
    return {
      state: this.#degraded.state,
      stateMs: clock.monotonicMs() - this.#sinceMs,
      ...reasonOf(connection.reason ?? this.#refusal),
    };
  }

  /** There is no connection; at the start, there is none yet. */
  lost(): void {
    this.#degraded.down();
  }

  /** Redis has taken a beat, or has failed to. */
  beaten(failure: BackplaneError | undefined): void {
    if (!this.#options.connection.isUp) return;
    this.#refusal = failure !== undefined && refusals.includes(failure.code) ? failure : undefined;
    if (this.#refusal === undefined) this.#degraded.up();
    else this.#degraded.down();
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#degraded.stop();
  }

  #changed(state: DegradedState, before: DegradedState): void {
    const { clock, logger, metrics, onChange } = this.#options;
    this.#sinceMs = clock.monotonicMs();
    metrics.backplaneState(state);
    if (before === "connected") {
      const why = this.#refusal === undefined ? "Redis is away" : "Redis refuses to work";
      logger.warn(`${why}: this replica watches for itself`);
    }
    if (state === "connected") logger.info("Redis works: one replica watches for all again");
    onChange();
  }
}
