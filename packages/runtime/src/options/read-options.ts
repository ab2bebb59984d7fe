import { quoted } from "../quoted.js";
import { RuntimeError } from "../runtime-error.js";
import { flagName, type OptionSpec, type OptionsOf, type OptionTable } from "./option.js";
import { readArgv } from "./read-argv.js";
import { readConfig } from "./read-config.js";

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
  const config = readsConfig ? await readConfig(given.get("config")?.at(-1), env) : {};
  const options: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(table) as [string, OptionSpec<unknown>][]) {
    const { value, from } = readOne(key, spec, given.get(key), env, config);
    options[key] = value;
    if (spec.notYetInEffect === true && from !== "default") {
      warnings.push(`${from} is accepted, but not yet in effect`);
    }
    if (spec.ignoredBecause !== undefined && from !== "default") {
      warnings.push(`${from} is accepted and ignored: ${spec.ignoredBecause}`);
    }
  }
  const known = new Set(
    Object.entries(table).flatMap(([key, spec]) => [flagName(key, spec), ...(spec.aliases ?? [])]),
  );
  for (const key of Object.keys(config)) {
    if (!known.has(key))
      warnings.push(`the key ${quoted(key)} of the config file is ignored: there is no such option`);
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
  config: Readonly<Record<string, unknown>>,
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
    const value = config[name];
    if (value !== undefined && value !== null) {
      const from = `"${name}" in the config file`;
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

/** A known flag that may have been meant, or nothing. */
function suggestion(flag: string, table: OptionTable): string {
  const name = flag.replace(/^-+/, "");
  const near = Object.entries(table)
    .map(([key, spec]) => flagName(key, spec))
    .find((one) => one.startsWith(name.slice(0, 4)) || editDistanceIsSmall(one, name));
  return near === undefined ? "" : ` (did you mean --${near}?)`;
}

/** True if one letter was changed, left out or added, or two adjacent ones were swapped. */
function editDistanceIsSmall(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}
