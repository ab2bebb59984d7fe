import { isCodedError } from "./coded-error.js";
import { renderHelp } from "./options/render-help.js";
import { readOptions } from "./options/read-options.js";
import type { OptionsOf, OptionTable } from "./options/option.js";
import { quoted } from "./quoted.js";
import { RuntimeError } from "./runtime-error.js";

/**
 * A binary with one command, `start`, like flagd and flagd-proxy; `version` and `--help` are added. `health` is a program of its own
 * (run-health.ts), which bundles begin with where it is asked for.
 */
export interface Program<Table extends OptionTable> {
  /** `bunting-proxy`. */
  readonly name: string;
  readonly version: string;
  readonly describe: string;
  readonly table: Table;
  /** Runs until the process is stopped by a signal. `warnings` are sentences about the command line, to be logged. */
  readonly start: (options: OptionsOf<Table>, warnings: readonly string[]) => Promise<void>;
}

/** For what is about to end by itself. */
const lingerMs = 250;

/** Runs a program; the result is its exit code, for `endProcess`. */
export async function runProgram<const Table extends OptionTable>(
  program: Program<Table>,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  try {
    return await run(program, argv, env);
  } catch (error) {
    process.stderr.write(`${describe(program.name, error)}\n`);
    return 1;
  }
}

/**
 * Has the process end with an exit code. All components have stopped by then or were abandoned: what one or a library still has under way, such as a
 * call of a peer that is silent, must not keep the process.
 */
export function endProcess(exitCode: number): void {
  process.exitCode = exitCode;
  setTimeout(() => process.exit(), lingerMs).unref();
}

async function run<const Table extends OptionTable>(
  program: Program<Table>,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const [command, ...rest] = argv;
  if (command === "version" || command === "--version") {
    process.stdout.write(`${program.name}: ${program.version} (node ${process.version})\n`);
    return 0;
  }
  if (command === undefined || command === "help" || argv.includes("--help") || argv.includes("-h")) {
    const { name, describe, table } = program;
    const usage = ["start [options]", "health [options]", "version"]
      .map((each) => `${name} ${each}`)
      .join("   |   ");
    const epilogue =
      "A flag overrides its environment variable, which overrides the config file, which overrides the default.";
    process.stdout.write(`${renderHelp({ usage, describe, table, epilogue })}\n`);
    return 0;
  }
  if (command !== "start") {
    const message = `${quoted(command)} is not a command of ${program.name}: use "${program.name} start", or --help`;
    throw new RuntimeError("COMMAND_UNKNOWN", message);
  }
  const { options, warnings } = await readOptions(program.table, {
    argv: rest,
    env,
    refusesUnknownVariables: true,
  });
  await program.start(options, warnings);
  return 0;
}

function describe(name: string, error: unknown): string {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors
    .map((one) => {
      if (!(one instanceof Error)) return `${name}: ${String(one)}`;
      // Any other is a defect.
      return `${name}: ${isCodedError(one) ? one.message : (one.stack ?? one.message)}`;
    })
    .join("\n");
}
