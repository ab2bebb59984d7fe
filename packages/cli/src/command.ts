import type { OptionsOf, OptionTable } from "@bunting/runtime/options";
import type { Io } from "./terminal/io.js";

/** A command of `bunting`. */
export interface Command {
  readonly name: string;
  /** The command line behind `bunting`: `lint [options] FILE…`. */
  readonly usage: string;
  /** What it does, in a few sentences. */
  readonly describe: string;
  readonly table: OptionTable;
  /** What its exit codes mean, and whatever else the end of `--help` says. */
  readonly epilogue: string;
  /** Resolves with the exit code. */
  run(call: CommandCall<OptionTable>): Promise<number>;
}

export interface CommandCall<Table> {
  /** All commands, this one included. */
  readonly commands: readonly CommandEntry[];
  readonly options: OptionsOf<Table>;
  /** What stands on the command line beside options. */
  readonly words: readonly string[];
  readonly io: Io;
}

/** A command, loaded when it is needed: a check of flags must not load what the others need. */
export interface CommandEntry {
  readonly name: string;
  /** One line for the list of all commands. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Names the type of a command's options once. */
export function command<const Table extends OptionTable>(
  definition: Omit<Command, "table" | "run"> & {
    readonly table: Table;
    run(call: CommandCall<Table>): Promise<number>;
  },
): Command {
  return definition;
}
