import { text, toggle, type ValueType } from "./value-types.js";

/** An option as a group of them declares it. */
export interface GroupedOption<T> {
  readonly type: ValueType<T>;
  readonly default: NoInfer<T>;
  /** Meaning, in a sentence or two. */
  readonly describe: string;
  /** The flag's name without dashes, if it is not the kebab-case of its key. */
  readonly flag?: string;
  /** Other names of the flag, without dashes. */
  readonly aliases?: readonly string[];
  /** Names of flags, without dashes, that are refused or ignored with this one as the hint: others once had them. */
  readonly formerNames?: readonly string[];
  /** One letter. */
  readonly short?: string;
  /** Environment variables; the first that is set wins. If not given: BUNTING_ and the key, as in BUNTING_MANAGEMENT_PORT. */
  readonly env?: readonly string[];
  /** The reason why the option has no effect, as a part of a sentence: using it logs a warning. */
  readonly ignoredBecause?: string;
  /**
   * True for what only our own tests set, such as a wait that they shorten: it is typed and checked as the others are, but no part of what we
   * promise to users, and so not in `--help` and docs/reference.
   */
  readonly isInternal?: boolean;
}

/** One option of a command: the single definition for the reader, `--help` and docs/reference. */
export interface OptionSpec<T> extends GroupedOption<T> {
  /** Its heading in `--help` and docs/reference. */
  readonly group: string;
  readonly env: readonly string[];
}

// The type parameter occurs in parameters and results of functions, so options of different types have no common type but this union.
export type OptionTable = Readonly<Record<string, OptionSpec<never> | OptionSpec<unknown>>>;

export type OptionsOf<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends GroupedOption<infer T> ? T : never;
};

type Extras = Partial<Omit<OptionSpec<unknown>, "type" | "default" | "describe">>;
/** Of an option that is in no group. */
type Placed = Extras & Pick<OptionSpec<unknown>, "group" | "env">;

/** An option; `extras` are the rest of its fields. */
export function option<T>(
  type: ValueType<T>,
  byDefault: NoInfer<T>,
  describe: string,
  extras: Placed,
): OptionSpec<T>;
export function option<T>(
  type: ValueType<T>,
  byDefault: NoInfer<T>,
  describe: string,
  extras?: Extras,
): GroupedOption<T>;
export function option<T>(
  type: ValueType<T>,
  byDefault: NoInfer<T>,
  describe: string,
  extras?: Extras,
): GroupedOption<T> {
  return { type, default: byDefault, describe, ...extras };
}

/** An option of text, which is empty by default. */
export function textOption(describe: string, extras: Placed): OptionSpec<string>;
export function textOption(describe: string, extras?: Extras): GroupedOption<string>;
export function textOption(describe: string, extras?: Extras): GroupedOption<string> {
  return option(text, "", describe, extras);
}

/** A switch that is off by default. */
export function toggleOption(describe: string, extras: Placed): OptionSpec<boolean>;
export function toggleOption(describe: string, extras?: Extras): GroupedOption<boolean>;
export function toggleOption(describe: string, extras?: Extras): GroupedOption<boolean> {
  return option(toggle, false, describe, extras);
}

type Grouped<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends GroupedOption<infer T> ? OptionSpec<T> : never;
};

/** The options under one heading, in the order of `--help`. Those that have a heading of their own keep it. */
export function optionGroup<
  Table extends Readonly<Record<string, GroupedOption<never> | GroupedOption<unknown>>>,
>(group: string, table: Table): Grouped<Table> {
  const specs = Object.entries(table).map(([key, spec]) => [key, { group, env: [variableOf(key)], ...spec }]);
  return Object.fromEntries(specs) as Grouped<Table>;
}

function variableOf(key: string): string {
  return `BUNTING_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** The documented options. */
export function publicOptions(table: OptionTable): readonly (readonly [key: string, OptionSpec<unknown>])[] {
  const all = Object.entries(table) as [string, OptionSpec<unknown>][];
  return all.filter(([, spec]) => spec.isInternal !== true);
}

/** `managementPort` is `management-port` on the command line. */
export function flagName(key: string, spec: Pick<OptionSpec<unknown>, "flag">): string {
  return spec.flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The flags, without dashes, of options that have another value than by default. */
export function givenFlags<Table extends OptionTable>(
  table: Table,
  options: { readonly [Key in keyof Table]: unknown },
): readonly string[] {
  return (Object.entries(table) as [keyof Table & string, OptionSpec<unknown>][])
    .filter(([key, { type, default: byDefault }]) => type.show(options[key]) !== type.show(byDefault))
    .map(([key, spec]) => flagName(key, spec));
}
