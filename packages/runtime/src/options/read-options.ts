import { quoted } from "../quoted.js";
import { RuntimeError } from "../runtime-error.js";
import { flagName, publicOptions, type OptionSpec, type OptionsOf, type OptionTable } from "./option.js";
import { readArgv } from "./read-argv.js";
import { noConfig, readConfig, type Config } from "./read-config.js";

export interface OptionsInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What happens to a flag that is not in the table. Default: a warning. */
  readonly unknownFlags?: "warn" | "refuse" | undefined;
  /** What happens to words that do not belong to a flag. Default: a warning. */
  readonly words?: "warn" | "take";
  /** False: no config file is read, not even $HOME/.agent.yaml. Default: true. */
  readonly readsConfig?: boolean;
}

export interface OptionsReading<Table> {
  /** Complete, checked and frozen. */
  readonly options: OptionsOf<Table>;
  /** Those that do not belong to a flag, where they are taken. */
  readonly words: readonly string[];
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
  { argv, env, unknownFlags = "warn", words = "warn", readsConfig = true }: OptionsInput,
): Promise<OptionsReading<Table>> {
  const { given, unknown, positionals, valueless } = readArgv(table, argv);
  if (unknownFlags === "refuse" && unknown[0] !== undefined) {
    const message = `unknown flag: ${unknown[0]}${suggestion(unknown[0], table)}; --help lists all flags`;
    throw new RuntimeError("OPTION_INVALID", message);
  }
  for (const key of valueless) {
    const spec = table[key];
    if (spec === undefined || spec.ignoredBecause !== undefined) continue;
    throw new RuntimeError("OPTION_INVALID", `--${flagName(key, spec)} needs a value; --help says which`);
  }
  const warnings = [
    ...unknown.map((flag) => `${flag} is ignored: there is no such flag${suggestion(flag, table)}`),
    ...(words === "take" ? [] : positionals).map(
      (word) => `the word ${quoted(word)} on the command line is ignored: it does not belong to a flag`,
    ),
  ];
  const config = readsConfig ? await readConfig(given.get("config")?.at(-1), env) : noConfig;
  const options: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(table) as [string, OptionSpec<unknown>][]) {
    const { value, from } = readOne(key, spec, given.get(key), env, config);
    options[key] = value;
    if (spec.ignoredBecause !== undefined && from !== "default") {
      warnings.push(`${from} is accepted and ignored: ${spec.ignoredBecause}`);
    }
  }
  const known = new Set(
    Object.entries(table).flatMap(([key, spec]) => [flagName(key, spec), ...(spec.aliases ?? [])]),
  );
  for (const key of Object.keys(config.values)) {
    if (!known.has(key))
      warnings.push(
        `the key ${quoted(key)} of the config file ${config.file} is ignored: there is no such option`,
      );
  }
  return {
    options: Object.freeze(options) as OptionsOf<Table>,
    words: words === "take" ? positionals : [],
    warnings,
  };
}

function readOne(
  key: string,
  spec: OptionSpec<unknown>,
  texts: readonly string[] | undefined,
  env: OptionsInput["env"],
  config: Config,
): { value: unknown; from: string } {
  const flag = flagName(key, spec);
  if (texts !== undefined)
    return { value: read(`--${flag}`, () => spec.type.fromTexts(texts)), from: `--${flag}` };
  for (const name of spec.env) {
    const text = env[name];
    if (text !== undefined && text !== "" && !isServiceLink(text)) {
      const { type } = spec;
      const reading = (): unknown => type.fromVariable?.(text) ?? type.fromTexts([text]);
      return { value: read(`the environment variable ${name}`, reading), from: name };
    }
  }
  for (const name of [flag, ...(spec.aliases ?? [])]) {
    const value = config.values[name];
    if (value !== undefined && value !== null) {
      const from = `"${name}" in the config file ${config.file}`;
      return { value: read(from, () => spec.type.fromConfig(value)), from };
    }
  }
  return { value: spec.default, from: "default" };
}

/** For a Service called `flagd`, kubelet sets FLAGD_PORT=tcp://10.0.0.1:80 in every pod of its namespace: that is not a setting. */
function isServiceLink(value: string): boolean {
  return /^(?:tcp|udp|sctp):\/\//.test(value);
}

function read<T>(from: string, reading: () => T): T {
  try {
    return reading();
  } catch (cause) {
    throw new RuntimeError("OPTION_INVALID", `${from}: ${(cause as Error).message}`, { cause });
  }
}

/** The known flag that was most probably meant, or nothing. */
function suggestion(flag: string, table: OptionTable): string {
  const name = flag.replace(/^-+/, "");
  // A single letter is as near to one flag as to another.
  if (name.length < 2) return "";
  const [nearest] = publicOptions(table)
    .map(([key, spec]) => flagName(key, spec))
    .map((one) => ({ one, edits: editsBetween(one, name) }))
    .filter(({ one, edits }) => edits <= 1 || one.startsWith(name.slice(0, 4)))
    .sort((a, b) => a.edits - b.edits);
  return nearest === undefined ? "" : ` (did you mean --${nearest.one}?)`;
}

/** How many letters have to be changed, left out or added, or swapped with the next, to make the one of the other. */
function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
