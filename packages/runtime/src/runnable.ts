/** Something that runs until it is told to stop. Its constructor started nothing; `run` releases all it took before it settles. */
export interface Runnable {
  readonly name: string;
  /** Runs until the signal aborts (resolves) or it can't go on (rejects). */
  run(signal: AbortSignal): Promise<void>;
}
