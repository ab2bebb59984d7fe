/**
 * Turns SIGTERM and SIGINT into an AbortSignal. The first one asks for a clean stop; a second one exits at once, for people who
 * do not want to wait for a drain.
 */
export function processSignals(target: NodeJS.Process = process): {
  readonly signal: AbortSignal;
  release(): void;
} {
  const abort = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (abort.signal.aborted) target.exit(name === "SIGINT" ? 130 : 143);
    abort.abort(new Error(`received ${name}`));
  };
  target.on("SIGTERM", onSignal);
  target.on("SIGINT", onSignal);
  return {
    signal: abort.signal,
    release: () => {
      target.off("SIGTERM", onSignal);
      target.off("SIGINT", onSignal);
    },
  };
}
