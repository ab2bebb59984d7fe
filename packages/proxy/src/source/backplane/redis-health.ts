import {
  DegradedMode,
  type BackplaneError,
  type DegradedState,
  type RedisConnection,
} from "@bunting/backplane";
import type { Context } from "@bunting/runtime";
import type { BackplaneMetrics, BackplaneReport } from "./backplane-metrics.js";
import { reasonOf } from "./backplane-report.js";

export interface RedisHealthOptions {
  readonly connection: Pick<RedisConnection, "isUp" | "reason">;
  /** See the options of the backplane. */
  readonly stableMs: number;
  readonly context: Context<Pick<BackplaneMetrics, "backplaneState">>;
  /** `usesRedis` has changed. */
  readonly onChange: () => void;
}

/** Errors of a heartbeat by which Redis refuses all writes of this replica, whatever the key: it is as good as away. */
const refusals: readonly string[] = [
  ...["REDIS_FULL", "REDIS_NOT_READY", "REDIS_DENIED", "REDIS_CLUSTERED", "REDIS_FAILED"],
];

/** Whether this replica can use Redis: there is a connection, and Redis accepts the heartbeats sent over it. */
export class RedisHealth {
  readonly #options: RedisHealthOptions;
  readonly #degraded: DegradedMode;
  #sinceMs: number;
  /** The error by which Redis refuses the heartbeats of this replica, although there is a connection. */
  #refusal: BackplaneError | undefined;

  constructor(options: RedisHealthOptions) {
    const { context, stableMs } = options;
    this.#options = options;
    this.#sinceMs = context.clock.monotonicMs();
    this.#degraded = new DegradedMode({
      ...{ clock: context.clock, stableMs },
      onChange: (state, before) => this.#changed(state, before),
    });
    context.metrics.backplaneState(this.#degraded.state);
  }

  get usesRedis(): boolean {
    return this.#degraded.state === "connected";
  }

  get report(): Pick<BackplaneReport, "state" | "stateMs" | "reason"> {
    const { context, connection } = this.#options;
    return {
      state: this.#degraded.state,
      stateMs: context.clock.monotonicMs() - this.#sinceMs,
      ...reasonOf(connection.reason ?? this.#refusal),
    };
  }

  /** There is no connection, or none yet. */
  lost(): void {
    this.#degraded.down();
  }

  /** Redis has accepted a heartbeat, or refused it with this error. */
  beaten(failure: BackplaneError | undefined): void {
    if (!this.#options.connection.isUp) return;
    this.#refusal = failure !== undefined && refusals.includes(failure.code) ? failure : undefined;
    if (this.#refusal === undefined) this.#degraded.up();
    else this.#degraded.down();
  }

  /** Ends all timers. */
  stop(): void {
    this.#degraded.stop();
  }

  #changed(state: DegradedState, before: DegradedState): void {
    const { context, onChange } = this.#options;
    this.#sinceMs = context.clock.monotonicMs();
    context.metrics.backplaneState(state);
    if (before === "connected") {
      const why = this.#refusal === undefined ? "Redis is away" : "Redis refuses to work";
      context.logger.warn(`${why}: this replica watches for itself`);
    }
    if (state === "connected") context.logger.info("Redis works: one replica watches for all again");
    onChange();
  }
}
