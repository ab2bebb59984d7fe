import { onNextTurn, type Clock } from "@bunting/runtime";

/** Time for messages in one turn. */
const turnMs = 10;

/** The part of a Readable that is used. */
export interface PausableStream {
  pause(): unknown;
  resume(): unknown;
  /** Emits the next message that has been read already as `data`, if there is one; null otherwise. */
  read(): unknown;
}

/**
 * Reads a stream of grpc-js no faster than its messages are handled. grpc-js passes on all messages that arrived together
 * before anything else in the process runs: 64 KB of small messages that each take long would stop everything for minutes.
 */
export class PacedReading {
  readonly #stream: PausableStream;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #turnSinceMs: number | undefined;
  #isSpent = false;
  #isPaused = false;
  #isBusy = false;
  #isOver = false;

  constructor(stream: PausableStream, clock: Pick<Clock, "monotonicMs">) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /** Handles a message. Once messages have taken `turnMs`, the next ones wait for the next turn of the event loop. */
  handle(take: () => void): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#turnSinceMs === undefined) {
      this.#turnSinceMs = nowMs;
      onNextTurn(() => this.#endTurn());
    }
    take();
    if (this.#isOver || this.#clock.monotonicMs() - this.#turnSinceMs < turnMs) return;
    this.#isSpent = true;
    this.#stream.pause();
  }

  /** Reads nothing until `resume`: flow control then stops the server. */
  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#readOn();
  }

  /** True while a message takes long: the next ones wait until then. */
  set isBusy(isBusy: boolean) {
    this.#isBusy = isBusy;
    if (isBusy) this.#stream.pause();
    else this.#readOn();
  }

  /** Handles at once what was read of a stream that has ended. */
  end(): void {
    this.#isOver = true;
    while (this.#stream.read() !== null);
  }

  #endTurn(): void {
    this.#turnSinceMs = undefined;
    this.#isSpent = false;
    this.#readOn();
  }

  #readOn(): void {
    if (!this.#isPaused && !this.#isBusy && !this.#isSpent && !this.#isOver) this.#stream.resume();
  }
}
