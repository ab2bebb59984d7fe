/**
 * Makes, of something that takes a while, a function whose callers share one run while it is under way. Whoever calls after it has settled
 * starts another run: nothing is cached.
 */
export function shareInFlight<Result>(start: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= start().finally(() => {
      running = undefined;
    });
    return running;
  };
}
