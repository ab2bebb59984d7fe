/** Something that runs until its signal aborts. The constructor starts nothing, and `run` releases everything before it settles. */
export interface Runnable {
  readonly name: string;
  /** Runs until the signal aborts (resolves) or it can't go on (rejects). */
  run(signal: AbortSignal): Promise<void>;
}
