import { flagName, type OptionSpec, type OptionTable } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";

/**
 * Writes out the flags that yargs reads in another way than the services do: `-aVALUE`, which yargs takes for the switches a, V, A…, and
 * `--json=yes`, of which yargs makes false.
 *
 * @throws CliError USAGE_INVALID for a switch with a value that is neither true nor false
 */
export function longFlags(table: OptionTable, argv: readonly string[]): string[] {
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
    throw new CliError("USAGE_INVALID", `${flag}: ${(cause as Error).message}`, { cause });
  }
}
