import { RuntimeError } from "../runtime-error.js";
import { flagName, type OptionSpec, type OptionsOf, type OptionTable } from "./option.js";
import type { Config } from "./read-config.js";

/** The texts of each option key that the command line gives, in order. */
export type GivenTexts = ReadonlyMap<string, readonly string[]>;

/**
 * Makes a command's options of what its command line gives, whoever parsed that. The command line overrides the environment, which
 * overrides the config file, which overrides the default. `ignored` are sentences about options that have no effect.
 *
 * @throws RuntimeError OPTION_INVALID; the message says where the value came from and what was expected.
 */
export function completeOptions<const Table extends OptionTable>(
  table: Table,
  given: GivenTexts,
  env: Readonly<Record<string, string | undefined>>,
  config: Config = { file: "", values: {} },
): { readonly options: OptionsOf<Table>; readonly ignored: readonly string[] } {
  const options: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [key, spec] of Object.entries(table) as [string, OptionSpec<unknown>][]) {
    const { value, from } = readOne(key, spec, given.get(key), env, config);
    options[key] = value;
    if (spec.ignoredBecause !== undefined && from !== "default")
      ignored.push(`${from} is accepted and ignored: ${spec.ignoredBecause}`);
  }
  return { options: Object.freeze(options) as OptionsOf<Table>, ignored };
}

function readOne(
  key: string,
  spec: OptionSpec<unknown>,
  texts: readonly string[] | undefined,
  env: Readonly<Record<string, string | undefined>>,
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
