import type { ValueType } from "./value-types.js";

/** One option of a command: everything that the reader, `--help` and docs/reference say of it stands here, once. */
export interface OptionSpec<T> {
  readonly type: ValueType<T>;
  readonly default: NoInfer<T>;
  /** Meaning, in a sentence or two. */
  readonly describe: string;
  /** The heading it stands under in `--help`. */
  readonly group: string;
  /** The flag's name without dashes, where it is not the kebab-case of its key. */
  readonly flag?: string;
  /** Other names of the flag, without dashes. */
  readonly aliases?: readonly string[];
  /** One letter. */
  readonly short?: string;
  /** Environment variables, the first that is set wins. */
  readonly env: readonly string[];
  /** True while the option is taken, so that nobody's command line breaks, but does nothing yet: using it prints a warning. */
  readonly notYetInEffect?: boolean;
}

// The type parameter stands on both sides of functions, so unlike options meet only in `unknown`'s stead here.
export type OptionTable = Readonly<Record<string, OptionSpec<never> | OptionSpec<unknown>>>;

export type OptionsOf<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends OptionSpec<infer T> ? T : never;
};

/** Names an option's type once; the identity function otherwise. */
export function option<T>(spec: OptionSpec<T>): OptionSpec<T> {
  return spec;
}

/** `managementPort` is `management-port` on the command line. */
export function flagName(key: string, spec: Pick<OptionSpec<unknown>, "flag">): string {
  return spec.flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
