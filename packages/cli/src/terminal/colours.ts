/** Text as a terminal shows it in colour, or unchanged. */
export interface Colours {
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

/** Colours for a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal has none. */
export function coloursFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  const isPlain = !isTerminal || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  const paint =
    (code: number) =>
    (text: string): string =>
      isPlain ? text : `\u001b[${code}m${text}\u001b[0m`;
  return { red: paint(31), green: paint(32), yellow: paint(33), dim: paint(2), bold: paint(1) };
}
