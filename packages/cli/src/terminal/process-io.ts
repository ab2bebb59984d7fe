import { coloursFor, hasColours } from "./colours.js";
import type { Io } from "./io.js";
import { escapedControls } from "./escaped-controls.js";

const maxColumns = 110;

/** The input and output of a process. `closed` is called when the reader of the standard output is gone, as after `| head -1`. */
export function processIo(process: NodeJS.Process, signal: AbortSignal, closed: () => void): Io {
  const { stdin, stdout, stderr, env } = process;
  const isColoured = hasColours(stdout.isTTY, env);
  let isProgressShown = false;
  const clear = (): void => {
    if (isProgressShown) stderr.write("\r\u001b[K");
    isProgressShown = false;
  };
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    closed();
  });
  // Where nobody reads the messages, the exit code still says how it went.
  stderr.on("error", () => undefined);
  return {
    env,
    stdin,
    signal,
    isTerminal: stdout.isTTY,
    columns: stdout.isTTY ? Math.min(maxColumns, stdout.columns) : 80,
    colours: coloursFor(stdout.isTTY, env),
    print: (line) => {
      clear();
      stdout.write(`${escapedControls(line, isColoured)}\n`);
    },
    note: (line) => {
      clear();
      stderr.write(`${escapedControls(line, false)}\n`);
    },
    clear: () => {
      if (stdout.isTTY) stdout.write("\u001b[H\u001b[2J");
    },
    progress: (text) => {
      if (!stderr.isTTY) return;
      clear();
      if (text === "") return;
      stderr.write(text.slice(0, Math.max(1, stderr.columns - 1)));
      isProgressShown = true;
    },
  };
}
