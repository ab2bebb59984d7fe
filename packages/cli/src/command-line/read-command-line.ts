import {
  completeOptions,
  flagName,
  quoted,
  suggestFlag,
  type OptionSpec,
  type OptionTable,
} from "@bunting/runtime/options";
import type { Arguments } from "yargs";
import { CliError } from "../cli-error.js";
import type { Command, CommandCall } from "../command.js";
import type { Io } from "../terminal/io.js";
import { completions, parserFor } from "./parser.js";

export type CommandLine =
  | { readonly kind: "help"; readonly command?: Command | undefined }
  | { readonly kind: "completions"; readonly lines: string }
  | { readonly kind: "run"; readonly command: Command; readonly call: CommandCall<OptionTable> };

/**
 * Reads a command line. yargs splits it into flags and words, and suggests commands; values come from there or from the environment, and
 * the types of the command's table read them, as those of the services.
 *
 * @throws CliError USAGE_INVALID, or RuntimeError OPTION_INVALID
 */
export function readCommandLine(argv: readonly string[], commands: readonly Command[], io: Io): CommandLine {
  const [first] = argv;
  const isCompletion = first === completions;
  const find = (name: string): Command | undefined => commands.find((one) => one.name === name);
  const command = find(first ?? "");
  const words = command === undefined ? argv : longFlags(command.table, argv);
  const found: { asked?: CommandLine } = {};
  const parser = parserFor(words, commands, io.columns, {
    command: (chosen, args) => {
      if (!isCompletion) found.asked = read(chosen, args, io);
    },
    help: (name) => {
      const asked = name === undefined ? undefined : (find(name) ?? unknown(name, commands));
      found.asked = { kind: "help", command: asked };
    },
  });
  let lines = "";
  const args = parser.parse([...words], {}, (_error, _args, output) => {
    lines = output;
  }) as Arguments;
  if (isCompletion) return { kind: "completions", lines };
  if (found.asked !== undefined) return found.asked;
  if (args["help"] === true || first === undefined) return { kind: "help" };
  return unknown(first, commands);
}

/** The text of `--help`, of a command or of all. Examples are not wrapped, as the rest is: what is copied has to run. */
export async function helpOf(
  command: Command | undefined,
  commands: readonly Command[],
  columns: number,
): Promise<string> {
  const words = command === undefined ? [] : [command.name];
  const chosen = { command: () => undefined, help: () => undefined };
  const help = await parserFor(words, commands, columns, chosen).getHelp();
  const examples = Object.entries(command?.examples ?? {}).map(
    ([line, meaning]) => `  # ${meaning}\n  ${line}`,
  );
  return examples.length === 0 ? help : `${help}\n\nExamples:\n${examples.join("\n")}`;
}

function unknown(name: string, commands: readonly Command[]): never {
  const names = commands.map((one) => one.name).join(", ");
  throw CliError.usageInvalid(`${quoted(name)} is not a command: use one of ${names}, or --help`);
}

/** `args` are what yargs has parsed: texts by the flags' names, and words in `_` behind the command, and in `--` behind that. */
function read(command: Command, args: Arguments, io: Io): CommandLine {
  const { help, _: before, "--": after = [], ...named } = args as ParsedArguments;
  if (help === true) return { kind: "help", command };
  const entries = Object.entries(command.table) as [string, OptionSpec<unknown>][];
  const keys = new Map(entries.map(([key, spec]) => [flagName(key, spec), key]));
  const given = new Map<string, readonly string[]>();
  const words = [...before.slice(1), ...after].map(String);
  for (const [name, value] of Object.entries(named)) {
    // The name of the program.
    if (name === "$0") continue;
    const key = keys.get(name);
    if (name === command.word?.name) words.unshift(oneOf(command.word, String(value)));
    else if (key === undefined) throw unknownFlag(name, command);
    else given.set(key, [String(value)]);
  }
  const { options } = completeOptions(command.table, given, io.env);
  return { kind: "run", command, call: { options, words, io } };
}

function oneOf({ name, choices }: NonNullable<Command["word"]>, value: string): string {
  if (choices.includes(value)) return value;
  throw CliError.usageInvalid(`expected one ${name}: ${choices.join(", ")}, got ${quoted(value)}`);
}

type ParsedArguments = Arguments & { readonly "--"?: readonly string[] };

function unknownFlag(name: string, { table }: Command): Error {
  const flag = name.length === 1 ? `-${name}` : `--${name}`;
  return CliError.usageInvalid(`unknown flag: ${flag}${suggestFlag(flag, table)}; --help lists all flags`);
}

/**
 * Writes out the flags that yargs reads in another way than the services do: `-aVALUE`, which yargs takes for the switches a, V, A…, and
 * `--json=yes`, of which yargs makes false.
 *
 * @throws CliError USAGE_INVALID for a switch with a value that is neither true nor false
 */
function longFlags(table: OptionTable, argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  return argv.map((word, index) => (end >= 0 && index > end ? word : longFlag(table, word)));
}

function longFlag(table: OptionTable, word: string): string {
  const [, long, longValue] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
  const [, short, shortValue] = /^-([^-])(.+)$/s.exec(word) ?? [];
  const entries = Object.entries(table) as [string, OptionSpec<unknown>][];
  const found = entries.find(([key, spec]) =>
    long === undefined ? spec.short !== undefined && spec.short === short : flagName(key, spec) === long,
  );
  if (found === undefined) return word;
  const flag = `--${flagName(...found)}`;
  const { type } = found[1];
  const value = longValue ?? shortValue ?? "";
  if (!type.isSwitch) return `${flag}=${long === undefined ? value.replace(/^=/, "") : value}`;
  // `-wn` is two switches.
  if (long === undefined && !value.startsWith("=")) return word;
  try {
    return `${flag}=${String(type.fromTexts([long === undefined ? value.slice(1) : value]))}`;
  } catch (cause) {
    throw CliError.usageInvalid(`${flag}: ${(cause as Error).message}`, { cause });
  }
}
