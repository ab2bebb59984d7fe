import { quoted } from "../quoted.js";
import { RuntimeError } from "../runtime-error.js";
import { completeOptions } from "./complete-options.js";
import { flagName, type OptionsOf, type OptionTable } from "./option.js";
import { readArgv } from "./read-argv.js";
import { noConfig, readConfig } from "./read-config.js";
import { suggestFlag } from "./suggest-flag.js";

export interface OptionsInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Treatment of a flag that is not in the table. Default: a warning. */
  readonly unknownFlags?: "warn" | "refuse" | undefined;
  /** False: no config file is read, not even $HOME/.agent.yaml. Default: true. */
  readonly readsConfig?: boolean;
}

export interface OptionsReading<Table> {
  /** Complete, checked and frozen. */
  readonly options: OptionsOf<Table>;
  /** Sentences to log as soon as there is a logger. */
  readonly warnings: readonly string[];
}

/**
 * Reads a command's options. The command line overrides the environment, which overrides the config file, which overrides the default.
 *
 * @throws RuntimeError OPTION_INVALID or CONFIG_UNREADABLE; the message says where the value came from and what was expected.
 */
export async function readOptions<const Table extends OptionTable>(
  table: Table,
  { argv, env, unknownFlags = "warn", readsConfig = true }: OptionsInput,
): Promise<OptionsReading<Table>> {
  const { given, unknown, positionals, valueless } = readArgv(table, argv);
  if (unknownFlags === "refuse" && unknown[0] !== undefined) {
    const message = `unknown flag: ${unknown[0]}${suggestFlag(unknown[0], table)}; --help lists all flags`;
    throw new RuntimeError("OPTION_INVALID", message);
  }
  for (const key of valueless) {
    const spec = table[key];
    if (spec === undefined || spec.ignoredBecause !== undefined) continue;
    throw new RuntimeError("OPTION_INVALID", `--${flagName(key, spec)} needs a value; --help says which`);
  }
  const warnings = [
    ...unknown.map((flag) => `${flag} is ignored: there is no such flag${suggestFlag(flag, table)}`),
    ...positionals.map(
      (word) => `the word ${quoted(word)} on the command line is ignored: it does not belong to a flag`,
    ),
  ];
  const config = readsConfig ? await readConfig(given.get("config")?.at(-1), env) : noConfig;
  const { options, ignored } = completeOptions(table, given, env, config);
  warnings.push(...ignored);
  const known = new Set(
    Object.entries(table).flatMap(([key, spec]) => [flagName(key, spec), ...(spec.aliases ?? [])]),
  );
  for (const key of Object.keys(config.values)) {
    if (!known.has(key))
      warnings.push(
        `the key ${quoted(key)} of the config file ${config.file} is ignored: there is no such option`,
      );
  }
  return { options, warnings };
}
