/** Makes a function whose callers share one run while it is under way. Nothing is cached after it has settled. */
export function shareInFlight<Result>(start: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= start().finally(() => (running = undefined));
    return running;
  };
}
