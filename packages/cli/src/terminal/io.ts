import type { Readable } from "node:stream";
import type { Colours } from "./colours.js";

/** What a command sees of the process around it. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  /** Of the standard output. */
  readonly colours: Colours;
  /** True if the standard output is a terminal. */
  readonly isTerminal: boolean;
  /** How wide lines of help may be: the width of the terminal up to what reads well, else 80. */
  readonly columns: number;
  /** Aborted when the user or a closed pipe ends the command. */
  readonly signal: AbortSignal;
  /** Writes a line of the result to the standard output, without control characters. */
  readonly print: (line: string) => void;
  /** Writes a line about the result to the standard error, without colours or control characters. */
  readonly note: (line: string) => void;
  /** Empties the terminal, so that what follows begins at its top. Without a terminal, nothing. */
  readonly clear: () => void;
  /** Shows how far long work has come: on one line of a terminal, which the next text or note replaces. Without a terminal, nothing. */
  readonly progress: (text: string) => void;
}
