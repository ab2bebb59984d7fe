import { onNextTurn, type Clock } from "@bunting/runtime";

/** How long messages are handled at a time. */
const turnMs = 10;

/** What is read from a stream; a Readable. */
export interface PausableStream {
  pause(): unknown;
  resume(): unknown;
  /** Emits the next message that has been read already as `data`, if there is one; null otherwise. */
  read(): unknown;
}

/**
 * Reads a stream of grpc-js no faster than its messages are handled. grpc-js passes on all that came together before anything else of the process
 * has its turn: 64 KB of small messages that each take long to handle would stop everything for minutes.
 */
export class PacedReading {
  readonly #stream: PausableStream;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #turnSinceMs: number | undefined;
  #isSpent = false;
  #isHeld = false;
  #isBusy = false;
  #isOver = false;

  constructor(stream: PausableStream, clock: Pick<Clock, "monotonicMs">) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /** Handles a message. If handling has taken long, the next ones wait until everything else has had its turn. */
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

  /** Reads nothing until `release`: flow control then holds the server back. */
  hold(): void {
    this.#isHeld = true;
    this.#stream.pause();
  }

  release(): void {
    this.#isHeld = false;
    this.#readOn();
  }

  /** A message takes long: the next ones wait until `isBusy` is false again. */
  set isBusy(isBusy: boolean) {
    this.#isBusy = isBusy;
    if (isBusy) this.#stream.pause();
    else this.#readOn();
  }

  /** The stream has ended: what has been read of it is handled at once. */
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
    if (!this.#isHeld && !this.#isBusy && !this.#isSpent && !this.#isOver) this.#stream.resume();
  }
}
