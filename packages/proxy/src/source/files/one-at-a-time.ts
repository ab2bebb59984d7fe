/**
 * Runs one job over and over, never twice at a time: asked for while it runs, it runs once more afterwards, however often it was asked.
 */
export class OneAtATime {
  readonly #job: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** The job must not reject: whoever asks for a run does not wait for it. */
  constructor(job: () => Promise<void>) {
    this.#job = job;
  }

  /** Resolves when a run that began after this call has ended. */
  request(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (this.#running === undefined) return this.#start();
    this.#next = this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  /** Resolves once nothing runs and nothing is asked for. */
  async idle(): Promise<void> {
    for (let run = this.#next ?? this.#running; run !== undefined; run = this.#next ?? this.#running)
      await run;
  }

  #start(): Promise<void> {
    const run = this.#job().finally(() => {
      if (this.#running === run) this.#running = undefined;
    });
    this.#running = run;
    return run;
  }
}
