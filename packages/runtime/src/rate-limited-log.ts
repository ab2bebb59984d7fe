import type { Clock } from "./clock.js";
import type { Logger } from "./logger.js";

const intervalMs = 60_000;

/** The lines of one kind since the last interval began. */
interface Interval {
  readonly sinceMs: number;
  logged: number;
  suppressed: number;
}

interface Line {
  readonly kind: string;
  readonly fields: Fields | (() => Fields);
  readonly message: string;
  readonly perMinute: number | undefined;
}

type Level = "info" | "warn" | "error";
type Fields = Readonly<Record<string, unknown>>;

/** Log lines that peers can cause: each kind a few times a minute (default once), with the number left out since. */
export class RateLimitedLog {
  readonly #logger: Pick<Logger, Level>;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Interval>();

  constructor(logger: Pick<Logger, Level>, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param fields a function that returns them is called only if the line is logged */
  info(kind: string, fields: Fields | (() => Fields), message: string, perMinute?: number): void {
    this.#log("info", { kind, fields, message, perMinute });
  }

  /**
   * @param kind one of a closed set: each is remembered.
   * @param perMinute how many lines of this kind are logged a minute
   */
  warn(kind: string, fields: Fields, message: string, perMinute?: number): void {
    this.#log("warn", { kind, fields, message, perMinute });
  }

  error(kind: string, fields: Fields, message: string, perMinute?: number): void {
    this.#log("error", { kind, fields, message, perMinute });
  }

  #log(level: Level, line: Line): void {
    const { kind, message, perMinute = 1 } = line;
    const nowMs = this.#clock.monotonicMs();
    let interval = this.#kinds.get(kind);
    const suppressedSinceLast = interval?.suppressed ?? 0;
    if (interval === undefined || nowMs - interval.sinceMs >= intervalMs) {
      interval = { sinceMs: nowMs, logged: 0, suppressed: 0 };
      this.#kinds.set(kind, interval);
    } else if (interval.logged >= perMinute) {
      interval.suppressed++;
      return;
    }
    interval.logged++;
    const fields = typeof line.fields === "function" ? line.fields() : line.fields;
    this.#logger[level](suppressedSinceLast === 0 ? fields : { ...fields, suppressedSinceLast }, message);
  }
}
