/**
 * Turns SIGTERM, SIGINT and SIGHUP into an AbortSignal. The first one asks for a clean stop; a second SIGTERM or SIGINT exits at once, for
 * people who do not want to wait for a drain. A second SIGHUP says nothing: when a terminal is closed, the shell and the system send one each.
 */
export function processSignals(target: NodeJS.Process = process): {
  readonly signal: AbortSignal;
  release(): void;
} {
  const abort = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (abort.signal.aborted && name !== "SIGHUP") target.exit(name === "SIGINT" ? 130 : 143);
    abort.abort(new Error(`received ${name}`));
  };
  for (const name of names) target.on(name, onSignal);
  return {
    signal: abort.signal,
    release: () => {
      for (const name of names) target.off(name, onSignal);
    },
  };
}

const names = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
