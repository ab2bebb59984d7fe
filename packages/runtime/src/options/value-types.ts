import { quoted } from "../quoted.js";

/**
 * How the text of a flag or environment variable becomes a value. The functions throw a plain Error whose message completes
 * "--port: …"; the reader adds where the text came from.
 */
export interface ValueType<T> {
  /** The placeholder of the value in `--help`; empty for a switch. */
  readonly placeholder: string;
  /** Which values are allowed, for `--help` and the reference ("1s to 1h, or 0"); absent where that is plain. */
  readonly range?: string | undefined;
  /** All values that are allowed, where they are few. */
  readonly choices?: readonly string[];
  /** True if the flag needs no value (`--debug`) and takes one only after `=` (`--debug=false`). */
  readonly isSwitch: boolean;
  /** `texts` are all values, in order: more than one if a flag was repeated. Never empty. */
  fromTexts(texts: readonly string[]): T;
  /** From an environment variable, where that is written differently. */
  fromVariable?(text: string): T;
  /** From a value of a config file. */
  fromConfig(value: unknown): T;
  /** The value in `--help` and the reference. */
  show(value: T): string;
}

export const text: ValueType<string> = scalar("text", (value) => value);

export const toggle: ValueType<boolean> = {
  ...scalar("", (value) => {
    if (["true", "1", "t", "yes", "on"].includes(value.toLowerCase())) return true;
    if (["false", "0", "f", "no", "off"].includes(value.toLowerCase())) return false;
    throw new Error(`expected true or false, got ${quoted(value)}`);
  }),
  isSwitch: true,
};

export function integer(bounds: { readonly min: number; readonly max: number }): ValueType<number> {
  const range = `${bounds.min} to ${bounds.max}`;
  const type = scalar("n", (value) => {
    const number = Number(value);
    if (!/^[+-]?\d+$/.test(value.trim()) || number < bounds.min || number > bounds.max)
      throw new Error(`expected a whole number from ${range}, got ${quoted(value)}`);
    return number;
  });
  return { ...type, range };
}

/** A TCP port; 0 means that the system chooses one. */
export const port: ValueType<number> = {
  ...integer({ min: 0, max: 65_535 }),
  placeholder: "port",
  range: undefined,
};

export function choice<const T extends string>(...choices: readonly T[]): ValueType<T> {
  const type = scalar(choices.join("|"), (value) => {
    const found = choices.find((one) => one === value);
    if (found === undefined) throw new Error(`expected ${alternatives(choices)}, got ${quoted(value)}`);
    return found;
  });
  return { ...type, choices };
}

/** "a", "a or b", "a, b or c". */
function alternatives(choices: readonly string[]): string {
  return [choices.slice(0, -1).join(", "), ...choices.slice(-1)].filter((part) => part !== "").join(" or ");
}

export interface DurationBounds {
  /** The shortest duration, apart from 0. */
  readonly minMs: number;
  readonly maxMs: number;
  /** "off": 0 is allowed, too, and turns off what lasts this long. Else a sentence that says what to do instead. */
  readonly zero: "off" | `use ${string}`;
}

/** The longest duration that Go knows. */
export const longestMs = 2_562_047 * 3_600_000;

/** A duration as Go writes it (`300ms`, `5s`, `1m30s`, `0`), in milliseconds. */
export function duration({ minMs, maxMs, zero }: DurationBounds): ValueType<number> {
  const allowsZero = zero === "off";
  const bounds = `${showDuration(minMs)} to ${showDuration(maxMs)}`;
  const range = allowsZero && minMs > 0 ? `${bounds}, or 0` : bounds;
  const type = scalar("duration", (value) => {
    const durationMs = parseDuration(value);
    if (durationMs === 0 && allowsZero) return 0;
    if (durationMs >= minMs && durationMs <= maxMs && durationMs !== 0) return durationMs;
    const advice = durationMs === 0 && !allowsZero ? `; ${zero}` : "";
    throw new Error(`expected a duration from ${range}, got ${quoted(value)}${advice}`);
  });
  return { ...type, show: showDuration, range };
}

/** The micro sign and the Greek letter are both in use. */
const unitMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ns: 1e-6,
};

/** A duration in the syntax of Go's time.ParseDuration, in ms. Throws an Error for any other text. */
export function parseDuration(value: string): number {
  const [, sign = "", amounts = ""] = /^([+-]?)(.*)$/.exec(value) ?? [];
  if (/^0+$/.test(amounts)) return 0;
  const parts = [...amounts.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== amounts)
    throw new Error(`expected a duration such as 300ms, 5s or 1m30s, got ${quoted(value)}`);
  const sumMs = parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
  return sign === "-" ? -sumMs : sumMs;
}

const byteUnits: Readonly<Record<string, number>> = {
  Gi: 1024 ** 3,
  Mi: 1024 ** 2,
  Ki: 1024,
  G: 1e9,
  M: 1e6,
  k: 1e3,
  "": 1,
};

export interface ByteBounds {
  readonly min: number;
  readonly max: number;
}

/** A number of bytes as Kubernetes writes it: `64Mi`, `500M`, `1048576`. */
export function byteSize(bounds: ByteBounds): ValueType<number> {
  const range = `${showBytes(bounds.min)} to ${showBytes(bounds.max)}`;
  const type = scalar("bytes", (value) => parseBytes(value, bounds, range));
  return { ...type, show: showBytes, range };
}

/** A number of bytes, or `auto`, for which the program chooses. */
export function byteSizeOrAuto(bounds: ByteBounds): ValueType<number | "auto"> {
  const range = `${showBytes(bounds.min)} to ${showBytes(bounds.max)}, or auto`;
  const type = scalar<number | "auto">("bytes", (value) =>
    value === "auto" ? value : parseBytes(value, bounds, range),
  );
  return { ...type, show: (value) => (value === "auto" ? value : showBytes(value)), range };
}

function parseBytes(value: string, { min, max }: ByteBounds, range: string): number {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)(Gi|Mi|Ki|G|M|k|)$/.exec(value) ?? [];
  const bytes = amount === "" ? Number.NaN : Math.round(Number(amount) * (byteUnits[unit] ?? 1));
  if (bytes >= min && bytes <= max) return bytes;
  throw new Error(`expected bytes such as 64Mi, from ${range}, got ${quoted(value)}`);
}

function showBytes(bytes: number): string {
  for (const unit of ["Gi", "Mi", "Ki"]) {
    const size = byteUnits[unit] ?? 1;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}

/** Repeated, or separated by commas; in an environment variable, and a text of a config file, also by spaces. Quotation marks keep commas. */
export const list: ValueType<readonly string[]> = {
  placeholder: "a,b",
  isSwitch: false,
  fromTexts: (texts) => texts.flatMap(splitAtCommas).filter((one) => one !== ""),
  fromVariable: splitAtSpaces,
  fromConfig: (value) => {
    if (typeof value === "string") return splitAtSpaces(value);
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw new Error("expected a list of texts");
  },
  show: (value) => (value.length === 0 ? "none" : value.join(",")),
};

function splitAtSpaces(given: string): string[] {
  return given.split(/[,\s]+/).filter((one) => one !== "");
}

/** As Go's pflag does: a value in quotation marks may hold commas, and a quotation mark that is written twice. */
function splitAtCommas(given: string): string[] {
  const found = given.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g);
  return [...found].map(([, marked, plain = ""]) => marked?.replaceAll('""', '"') ?? plain.trim());
}

/** `key=value`, repeated or separated by commas; in an environment variable also a JSON object. */
export const mapping: ValueType<Readonly<Record<string, string>>> = {
  placeholder: "key=value",
  isSwitch: false,
  fromTexts: (texts) => Object.fromEntries(texts.flatMap(readMapping)),
  fromConfig: (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Error("expected a map of texts");
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)]));
  },
  show: (value) => {
    const entries = Object.entries(value).map(([key, one]) => `${key}=${one}`);
    return entries.length === 0 ? "none" : entries.join(",");
  },
};

function readMapping(given: string): [string, string][] {
  if (given.trim().startsWith("{")) return Object.entries(mapping.fromConfig(parseMap(given)));
  // A comma starts a new pair only if a pair follows, so that values may contain commas.
  const pairs = given.split(/,(?=[^,=]+=)/).filter((pair) => pair !== "");
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) throw new Error(`expected key=value, got ${quoted(pair)}`);
    return [pair.slice(0, at).trim(), pair.slice(at + 1)];
  });
}

function parseMap(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch (cause) {
    throw new Error(`expected key=value, or a JSON object, got ${quoted(given)}`, { cause });
  }
}

/** Text that a config file may also hold as a structure, which becomes JSON text (`sources`). */
export const jsonText: ValueType<string> = {
  ...text,
  placeholder: "json",
  fromConfig: (value) => (typeof value === "string" ? value : JSON.stringify(value)),
};

function scalar<T extends string | number | boolean>(
  placeholder: string,
  read: (value: string) => T,
): ValueType<T> {
  return {
    placeholder,
    isSwitch: false,
    // As in Go's flag packages, the last value wins.
    fromTexts: (texts) => read(texts.at(-1) ?? ""),
    fromConfig: (value) => {
      if (typeof value === "string") return read(value);
      if (typeof value === "number" || typeof value === "boolean") return read(String(value));
      throw new Error("expected a single value");
    },
    show: (value) => (value === "" ? "none" : String(value)),
  };
}

function showDuration(valueMs: number): string {
  if (valueMs === 0) return "0";
  for (const [unit, size] of Object.entries(unitMs)) {
    if (valueMs >= size && Number.isInteger(valueMs / size)) return `${valueMs / size}${unit}`;
  }
  return `${valueMs}ms`;
}
