/** Text as a terminal shows it in colour, or unchanged. */
export interface Colours {
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

/** False if NO_COLOR is set (https://no-color.org), or the output is no terminal, or one without colours. */
export function hasColours(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** Colours for an output that has them; for others, text stays as it is. */
export function coloursFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  const isPlain = !hasColours(isTerminal, env);
  const paint =
    (code: number) =>
    (text: string): string =>
      isPlain ? text : `\u001b[${code}m${text}\u001b[0m`;
  return { red: paint(31), green: paint(32), yellow: paint(33), dim: paint(2), bold: paint(1) };
}
