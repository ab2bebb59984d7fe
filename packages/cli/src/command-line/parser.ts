import { flagName, quoted, type OptionSpec, type OptionTable } from "@bunting/runtime/options";
import type { Arguments, Argv, Options } from "yargs";
import yargs from "yargs";
import { CliError } from "../cli-error.js";
import { usageOf, type Command } from "../command.js";

/** What a parser calls for the command that stands on its command line. */
export interface Chosen {
  /** A command, with the flags that are given and the words that belong to no flag. */
  command(command: Command, args: Arguments): void;
  /** `bunting help`, with the command's name if there is one. */
  help(name: string | undefined): void;
}

/** What the scripts of `bunting completion` ask with. */
export const completions = "--get-yargs-completions";

const usage = "bunting COMMAND [options]";
const describe = "Checks, evaluates, compares and follows feature flags of Bunting and flagd.";
const epilogue = '"bunting help COMMAND" shows the options of a command.';

/** The parser of yargs for these words: all commands, and what each takes. Nothing is printed, and the process is not ended. */
export function parserFor(
  argv: readonly string[],
  commands: readonly Command[],
  columns: number,
  chosen: Chosen,
): Argv {
  let isCommand = false;
  const isCompletion = argv[0] === completions;
  const parser = yargs([...argv])
    .scriptName("bunting")
    .exitProcess(false)
    // The rest stays in English, too, then.
    .updateStrings({
      "Did you mean %s?": "did you mean %s?",
      "Not enough arguments following: %s": "--%s needs a value; --help says which",
    })
    .parserConfiguration({
      "boolean-negation": false,
      "camel-case-expansion": false,
      "dot-notation": false,
      "duplicate-arguments-array": false,
      "strip-aliased": true,
    })
    // yargs's own help takes the last word "help" for a request of help, also where it is the key of a flag.
    .help(false)
    .version(false)
    .options({
      help: { alias: "h", type: "boolean", describe: "Show help." },
      version: { alias: "v", type: "boolean", describe: "Show the version.", global: false },
    })
    .usage(`Usage: ${usage}\n\n${describe}`)
    .epilogue(epilogue)
    .wrap(columns)
    .recommendCommands()
    .fail((message: string) => {
      const sentence = isCommand
        ? message.replace(/^--(.) /, "-$1 ")
        : `${quoted(argv[0] ?? "")} is not a command: ${message}`;
      throw CliError.usageInvalid(sentence);
    });
  for (const command of commands) {
    const builder = (one: Argv): Argv => {
      isCommand = true;
      return withCommand(one, command, isCompletion).middleware(
        (args) => chosen.command(command, args),
        true,
      );
    };
    parser.command(
      command.word === undefined ? command.name : `${command.name} [${command.word.name}]`,
      command.summary,
      builder,
    );
  }
  return parser.command("help [command]", "show the options of a command", (one) => {
    isCommand = true;
    return one
      .positional("command", { choices: commands.map(({ name }) => name) })
      .middleware(({ command }) => chosen.help(command), true);
  });
}

/** What a command takes, for its help and its completion. */
function withCommand(parser: Argv, command: Command, isCompletion: boolean): Argv {
  const { word, describe, table, epilogue } = command;
  parser
    .usage(`Usage: ${usageOf(command)}\n\n${describe}`)
    .options(optionsOf(table, isCompletion))
    .epilogue(epilogue);
  if (word !== undefined) parser.positional(word.name, { choices: word.choices, hidden: true });
  return parser;
}

function optionsOf(table: OptionTable, isCompletion: boolean): Record<string, Options> {
  const entries = Object.entries(table) as [string, OptionSpec<unknown>][];
  return Object.fromEntries(
    entries.map(([key, spec]) => [flagName(key, spec), optionOf(spec, isCompletion)]),
  );
}

/** Values stay texts here: the table's types read them, also those of the environment. */
function optionOf(spec: OptionSpec<unknown>, isCompletion: boolean): Options {
  const { type, aliases = [], short, describe, group, env } = spec;
  const range = type.range === undefined ? "" : ` Allowed: ${type.range}.`;
  const common: Options = {
    alias: short === undefined ? aliases : [short, ...aliases],
    // Beside a completion there is room for a sentence.
    describe: isCompletion
      ? (describe.split(/[.:;] /)[0] ?? "")
      : `${describe}${range} Environment: ${env.join(", ")}.`,
    group: `${group}:`,
  };
  if (type.isSwitch) return { ...common, type: "boolean" };
  const shown = type.show(spec.default);
  return {
    ...common,
    type: "string",
    nargs: 1,
    ...(shown === "none" ? {} : { defaultDescription: shown }),
    ...(type.choices === undefined ? {} : { choices: type.choices }),
  };
}
