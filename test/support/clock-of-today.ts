import { ManualClock } from "./manual-clock.js";

/** Others read what is dated by it, such as certificates, by their own clocks. */
export class ClockOfToday extends ManualClock {
  readonly #sinceMs = Date.now() - super.now();

  override now(): number {
    return super.now() + this.#sinceMs;
  }
}
