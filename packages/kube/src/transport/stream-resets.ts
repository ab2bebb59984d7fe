import { constants, type ClientHttp2Stream } from "node:http2";
import type { Clock } from "@bunting/runtime";

const batchSize = 8;
const pauseMs = 10;

/**
 * Resets streams that are not wanted any more, a few at a time: to an API server, hundreds of RST_STREAM at once are an attack (rapid
 * reset), and it ends the connection with all the watches on it. A stream keeps its slot in the session until it is reset.
 */
export class StreamResets {
  readonly #clock: Clock;
  #waiting: ClientHttp2Stream[] = [];
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reset(stream: ClientHttp2Stream): void {
    this.#waiting.push(stream);
    if (this.#stopTimer === undefined) this.#next();
  }

  /** Resets nothing more: the sessions are being destroyed. */
  close(): void {
    this.#stopTimer?.();
    this.#waiting = [];
  }

  #next(): void {
    for (const stream of this.#waiting.splice(0, batchSize)) {
      if (stream.destroyed) continue;
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    }
    this.#stopTimer = this.#clock.after(pauseMs, () => {
      this.#stopTimer = undefined;
      if (this.#waiting.length > 0) this.#next();
    });
  }
}
