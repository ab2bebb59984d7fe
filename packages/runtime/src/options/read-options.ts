import { quoted } from "../quoted.js";
import { RuntimeError } from "../runtime-error.js";
import { completeOptions } from "./complete-options.js";
import { flagName, type OptionsOf, type OptionTable } from "./option.js";
import { readArgv } from "./read-argv.js";
import { noConfig, readConfig } from "./read-config.js";
import { suggestFlag } from "./suggest-flag.js";
import { refuseUnknownVariables } from "./unknown-variables.js";

export interface OptionsInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True if variables `BUNTING_…` that none of our programs reads are refused. Default: false. */
  readonly refusesUnknownVariables?: boolean;
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
 * What is in none of our tables is refused: an option that is ignored because of a typing error could leave a door open.
 *
 * @throws RuntimeError OPTION_INVALID or CONFIG_UNREADABLE; the message says where the value came from and what was expected.
 */
export async function readOptions<const Table extends OptionTable>(
  table: Table,
  { argv, env, refusesUnknownVariables = false, readsConfig = true }: OptionsInput,
): Promise<OptionsReading<Table>> {
  const { given, unknown, positionals, valueless } = readArgv(table, argv);
  if (unknown.length > 0)
    refuse(
      `unknown flag${unknown.length > 1 ? "s" : ""}: ${unknown.map((flag) => `${flag}${suggestFlag(flag, table)}`).join(", ")}`,
    );
  for (const key of valueless) {
    const spec = table[key];
    if (spec === undefined || spec.ignoredBecause !== undefined) continue;
    throw new RuntimeError("OPTION_INVALID", `--${flagName(key, spec)} needs a value; --help says which`);
  }
  if (refusesUnknownVariables) await refuseUnknownVariables(table, env);
  const warnings = positionals.map(
    (word) => `the word ${quoted(word)} on the command line is ignored: it does not belong to a flag`,
  );
  const config = readsConfig ? await readConfig(given.get("config")?.at(-1), env) : noConfig;
  const { options, ignored } = completeOptions(table, given, env, config);
  warnings.push(...ignored);
  const known = new Set(
    Object.entries(table).flatMap(([key, spec]) => [flagName(key, spec), ...(spec.aliases ?? [])]),
  );
  const stranger = Object.keys(config.values).find((key) => !known.has(key));
  if (stranger !== undefined)
    refuse(
      `unknown key ${quoted(stranger)} in the config file ${config.file}${suggestFlag(stranger, table)}`,
    );
  return { options, warnings };
}

function refuse(what: string): never {
  throw new RuntimeError("OPTION_INVALID", `${what}; --help lists all flags`);
}
