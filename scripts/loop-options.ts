/** How `npm test` was asked to narrow the tests down for the loop of a developer; the rest of its arguments is of others. */
export interface LoopOptions {
  /** Only tests that depend on what has changed since this commit. */
  readonly since: string | undefined;
  /** Only tests that are known to be quick. */
  readonly isFast: boolean;
  /** Again and again, after each change the tests that depend on it. */
  readonly isWatching: boolean;
  /** The arguments without these options. */
  readonly rest: readonly string[];
}

/** @throws Error if `--since` names no commit. */
export function loopOptions(argv: readonly string[]): LoopOptions {
  const rest: string[] = [];
  let since: string | undefined;
  let isFast = false;
  let isWatching = false;
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? "";
    const [, inline] = /^--since=(.*)$/.exec(argument) ?? [];
    if (argument === "--fast") isFast = true;
    else if (argument === "--watch" || argument === "-w") isWatching = true;
    else if (argument === "--since" || inline !== undefined) {
      since = inline ?? argv[++index] ?? "";
      if (since === "" || since.startsWith("-"))
        throw new Error("--since takes a commit or a branch, such as --since main");
    } else rest.push(argument);
  }
  return { since, isFast, isWatching, rest };
}
