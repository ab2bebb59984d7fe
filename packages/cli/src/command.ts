import type { OptionsOf, OptionTable } from "@bunting/runtime/options";
import type { Io } from "./terminal/io.js";

/**
 * A command of `bunting`: the single definition for the parser, `--help`, completion and docs/reference. What the command does is loaded
 * when it runs: a check of flags must not load what the others need.
 */
export interface Command {
  readonly name: string;
  /** One line for the list of all commands. */
  readonly summary: string;
  /** What the command line has besides options: `FILE…`. Empty: nothing. */
  readonly words: string;
  /** The first word, where it is one of a few. */
  readonly word?: { readonly name: string; readonly choices: readonly string[] };
  /** What the command does, in a few sentences. */
  readonly describe: string;
  readonly table: OptionTable;
  /** Command lines, and what each does. */
  readonly examples: Readonly<Record<string, string>>;
  /** The meaning of the exit codes. */
  readonly epilogue: string;
  /** Imports what runs it. */
  readonly load: () => Promise<LoadedCommand<OptionTable>>;
}

export interface LoadedCommand<Table> {
  /** Resolves with the exit code. */
  run(call: CommandCall<Table>): Promise<number>;
}

export interface CommandCall<Table> {
  readonly options: OptionsOf<Table>;
  /** What stands on the command line besides options. */
  readonly words: readonly string[];
  readonly io: Io;
}

/** Names the type of a command's options once. */
export function command<const Table extends OptionTable>(
  definition: Omit<Command, "table" | "load"> & {
    readonly table: Table;
    readonly load: () => Promise<LoadedCommand<Table>>;
  },
): Command {
  return definition;
}

/** The command line of a command, without what its words are replaced by: `bunting lint [options] FILE…`. */
export function usageOf({ name, words, table }: Command): string {
  const options = Object.keys(table).length > 0 ? "[options]" : "";
  return ["bunting", name, options, words].filter((part) => part !== "").join(" ");
}
