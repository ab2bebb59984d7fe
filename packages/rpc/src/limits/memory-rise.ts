/** How often the memory of the process is read. It takes 30 µs. */
const stepMs = 100;
const riseBytes = 4 * 1024 * 1024;
const checksPerRise = 4;

/**
 * Calls back a few times, 100 ms apart, whenever the memory of the process rises: what is held unseen then has to be found at once, while
 * otherwise a sweep every few seconds will do.
 */
export class MemoryRise {
  readonly #onRise: () => void;
  /** What the process had at the last rise, or has had least since. */
  #residentBytes = Number.POSITIVE_INFINITY;
  #checksLeft = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(onRise: () => void) {
    this.#onRise = onRise;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), stepMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const residentBytes = process.memoryUsage.rss();
    const isRise = residentBytes > this.#residentBytes + riseBytes;
    if (isRise) this.#checksLeft = checksPerRise;
    if (isRise || residentBytes < this.#residentBytes) this.#residentBytes = residentBytes;
    if (this.#checksLeft === 0) return;
    this.#checksLeft--;
    this.#onRise();
  }
}
