import type { Clock } from "@bunting/runtime";
import type { MessageArrival } from "./message-arrival.js";

/** A proxy sends at least a heartbeat every 20 s. */
export const silenceMs = 60_000;

/** Calls back once if nothing was received for `silenceMs`, and no message is arriving, and counts what is. A message costs no timer. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #maxPerSecond: number;
  readonly #arrival: Pick<MessageArrival, "goesOn">;
  #heardMs = 0;
  #secondMs = 0;
  #messages = 0;
  #cancel: () => void = () => undefined;

  /** @param maxPerSecond how many messages the server may send in a second */
  constructor(clock: Clock, maxPerSecond: number, arrival: Pick<MessageArrival, "goesOn">) {
    this.#clock = clock;
    this.#arrival = arrival;
    this.#maxPerSecond = maxPerSecond;
  }

  start(silent: () => void): void {
    this.heard();
    const look = (): void => {
      // Asked each time, so that it tells of what has come since the last look: messages, unless nothing was heard.
      const goesOn = this.#arrival.goesOn();
      const leftMs = this.#heardMs + silenceMs - this.#clock.monotonicMs();
      if (leftMs > 0) this.#cancel = this.#clock.after(leftMs, look);
      else if (goesOn) this.#cancel = this.#clock.after(silenceMs, look);
      else silent();
    };
    look();
  }

  /** False if there are more messages than a proxy sends. */
  heard(): boolean {
    this.#heardMs = this.#clock.monotonicMs();
    if (this.#heardMs - this.#secondMs >= 1_000) {
      this.#secondMs = this.#heardMs;
      this.#messages = 0;
    }
    return ++this.#messages <= this.#maxPerSecond;
  }

  stop(): void {
    this.#cancel();
  }
}
