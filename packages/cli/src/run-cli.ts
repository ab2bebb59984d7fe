import { quoted, readOptions, renderHelp } from "@bunting/runtime/options";
import { CliError } from "./cli-error.js";
import type { Command } from "./command.js";
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
  const [name, ...rest] = argv;
  if (name === "--version" || name === "version" || name === "-v") {
    io.print(`bunting: ${version} (node ${process.version})`);
    return 0;
  }
  if (
    name === undefined ||
    name === "--help" ||
    name === "-h" ||
    (name === "help" && rest[0] === undefined)
  ) {
    io.print(overview());
    return name === undefined ? failed : 0;
  }
  const isHelp = name === "help" || isAsked(rest);
  const command = await load(name === "help" ? (rest[0] ?? "") : name);
  if (isHelp) {
    io.print(helpOf(command));
    return 0;
  }
  const { options, words } = await readOptions(command.table, {
    argv: rest,
    env: io.env,
    unknownFlags: "refuse",
    words: "take",
    readsConfig: false,
  });
  return command.run({ options, words, io, commands });
}

function isAsked(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const flags = end < 0 ? argv : argv.slice(0, end);
  return flags.includes("--help") || flags.includes("-h");
}

async function load(name: string): Promise<Command> {
  const entry = commands.find((one) => one.name === name);
  if (entry !== undefined) return entry.load();
  const names = commands.map((one) => one.name).join(", ");
  throw new CliError("USAGE_INVALID", `${quoted(name)} is not a command: use one of ${names}, or --help`);
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "Usage: bunting COMMAND [options]",
    "Checks, evaluates, compares and follows feature flags of Bunting and flagd.",
    `Commands:\n${commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n")}`,
    `"bunting help COMMAND" shows the options of a command, "bunting --version" the version.`,
  ].join("\n\n");
}

/** The text of `--help` of a command. */
function helpOf({ usage, describe, table, epilogue }: Command): string {
  return renderHelp({ usage: `bunting ${usage}`, describe, table, epilogue });
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return explained.has(error.name) ? error.message : (error.stack ?? error.message);
}
