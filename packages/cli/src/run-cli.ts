import { commands } from "./commands.js";
import type { Io } from "./terminal/io.js";
import { version } from "./version.js";

/** The exit code of a command that could not do its work. */
export const failed = 2;

/** As shells have it of a command that Ctrl-C ended. */
const interrupted = 130;

/** Errors with these names are explained by their message; any other is a defect, and shown with its stack. */
const explained = new Set(["CliError", "RuntimeError", "KubeError", "FlagError", "ProtocolError"]);

/** Runs the command line of `bunting`; the result is the exit code. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    if (io.signal.aborted) return interrupted;
    io.note(`bunting: ${describe(error)}`);
    return failed;
  }
}

async function run(argv: readonly string[], io: Io): Promise<number> {
  if (["--version", "-v", "version"].includes(argv[0] ?? "")) {
    io.print(`bunting: ${version} (node ${process.version})`);
    return 0;
  }
  // Not before: loading yargs takes longer than printing the version.
  const { helpOf, readCommandLine } = await import("./command-line/read-command-line.js");
  const asked = readCommandLine(argv, commands, io);
  switch (asked.kind) {
    case "help":
      io.print(await helpOf(asked.command, commands, io.columns));
      return argv.length === 0 ? failed : 0;
    case "completions":
      if (asked.lines !== "") io.print(asked.lines);
      return 0;
    case "run":
      return (await asked.command.load()).run(asked.call);
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return explained.has(error.name) ? error.message : (error.stack ?? error.message);
}
