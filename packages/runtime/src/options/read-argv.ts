import { parseArgs, type ParseArgsConfig } from "node:util";
import { flagName, type OptionTable } from "./option.js";

export interface ArgvReading {
  /** The values of each option key, in order. A switch without a value is "true". */
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** Words that do not belong to a flag. */
  readonly positionals: readonly string[];
  /** Flags that are not in the table, with their dashes. */
  readonly unknown: readonly string[];
  /** The keys of options that need a value, and are the last word without one. */
  readonly valueless: readonly string[];
}

/**
 * Reads a command line as Go's pflag does (`--port 1`, `--port=1`, `-p 1`, `-p1`, `-p=1`, `--debug`, `--debug=false`). Unknown flags
 * are returned separately, without the word that follows them, for the caller to refuse or to warn about.
 */
export function readArgv(table: OptionTable, argv: readonly string[]): ArgvReading {
  const keyOf = new Map<string, string>();
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [key, spec] of Object.entries(table)) {
    const name = flagName(key, spec);
    for (const one of [name, ...(spec.aliases ?? [])]) {
      keyOf.set(one, key);
      options[one] = { type: spec.type.isSwitch ? "boolean" : "string", multiple: true };
    }
    if (spec.short !== undefined)
      options[name] = { ...options[name], type: options[name]?.type ?? "string", short: spec.short };
  }
  const { tokens } = parseArgs({
    args: argv.map((word) => longSwitch(table, word)),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });

  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  const unknown: string[] = [];
  const valueless: string[] = [];
  let unknownAt = -2;
  for (const token of tokens) {
    if (token.kind === "positional") {
      if (token.index !== unknownAt + 1) positionals.push(token.value);
    } else if (token.kind === "option") {
      const key = keyOf.get(token.name);
      if (key === undefined) {
        unknown.push(token.rawName);
        if (token.value === undefined) unknownAt = token.index;
      } else {
        if (token.value === undefined && table[key]?.type.isSwitch !== true) valueless.push(key);
        // `-p=1` arrives as the value "=1".
        const inlineShort = token.rawName.length === 2 && token.inlineValue === true;
        const value = inlineShort ? token.value.replace(/^=/, "") : token.value;
        given.set(key, [
          ...(given.get(key) ?? []),
          value ?? (table[key]?.type.isSwitch === true ? "true" : ""),
        ]);
      }
    }
  }
  return { given, positionals, unknown, valueless };
}

/** `-x=true` as `--debug=true`: parseArgs would read it as the switches x, =, t, r, u and e. */
function longSwitch(table: OptionTable, word: string): string {
  const [, short, value] = /^-([^-])=(.*)$/s.exec(word) ?? [];
  if (short === undefined || value === undefined) return word;
  const found = Object.entries(table).find(([, spec]) => spec.short === short && spec.type.isSwitch);
  return found === undefined ? word : `--${flagName(...found)}=${value}`;
}
