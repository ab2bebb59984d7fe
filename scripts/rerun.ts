/** Runs tests until they have ended, or the signal aborts. */
export type RunTests = (files: readonly string[], signal: AbortSignal) => Promise<void>;

/**
 * Runs the tests that a change affects, one run at a time. A change during a run ends that run: its tests run again together with those of
 * the new change, since they had no answer yet.
 */
export class Rerun {
  readonly #run: RunTests;
  #running: { readonly files: ReadonlySet<string>; readonly abort: AbortController } | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(run: RunTests) {
    this.#run = run;
  }

  start(files: Iterable<string>): void {
    const before = this.#running;
    const running = {
      files: new Set([...(before?.files ?? []), ...files]),
      abort: new AbortController(),
    };
    this.#running = running;
    before?.abort.abort();
    this.#ended = this.#ended.then(async () => {
      if (running.abort.signal.aborted) return;
      await this.#run([...running.files].sort(), running.abort.signal);
      if (this.#running === running) this.#running = undefined;
    });
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    this.#running?.abort.abort();
    await this.#ended;
  }
}
