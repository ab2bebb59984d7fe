import { quoted } from "../quoted.js";

/**
 * How the text of a flag or environment variable becomes a value. The functions throw a plain Error whose message completes
 * "--port: …"; the reader adds where the text came from.
 */
export interface ValueType<T> {
  /** The placeholder of the value in `--help`; empty for a switch. */
  readonly placeholder: string;
  /** True if the flag needs no value (`--debug`) and takes one only after `=` (`--debug=false`). */
  readonly isSwitch: boolean;
  /** `texts` are all values, in order: more than one if a flag was repeated. Never empty. */
  fromTexts(texts: readonly string[]): T;
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
  return scalar("n", (value) => {
    const number = Number(value);
    if (!/^[+-]?\d+$/.test(value.trim()) || number < bounds.min || number > bounds.max) {
      throw new Error(`expected a whole number from ${bounds.min} to ${bounds.max}, got ${quoted(value)}`);
    }
    return number;
  });
}

/** A TCP port; 0 means that the system chooses one. */
export const port: ValueType<number> = { ...integer({ min: 0, max: 65_535 }), placeholder: "port" };

export function choice<const T extends string>(...choices: readonly T[]): ValueType<T> {
  return scalar(choices.join("|"), (value) => {
    const found = choices.find((one) => one === value);
    if (found === undefined) throw new Error(`expected ${choices.join(" or ")}, got ${quoted(value)}`);
    return found;
  });
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration as Go writes it (`300ms`, `5s`, `1m30s`, `0`), in milliseconds. */
export const durationMs: ValueType<number> = {
  ...scalar("duration", (value) => {
    if (/^0+$/.test(value)) return 0;
    const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
    if (parts.length === 0 || parts.map(([part]) => part).join("") !== value) {
      throw new Error(`expected a duration such as 300ms, 5s or 1m30s, got ${quoted(value)}`);
    }
    return parts.reduce((sum, [, amount = "", unit = ""]) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
  }),
  show: showDuration,
};

/** Repeated, or separated by commas. */
export const list: ValueType<readonly string[]> = {
  placeholder: "a,b",
  isSwitch: false,
  fromTexts: (texts) => texts.flatMap((one) => one.split(/[,\s]+/)).filter((one) => one !== ""),
  fromConfig: (value) => {
    if (typeof value === "string") return list.fromTexts([value]);
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw new Error("expected a list of texts");
  },
  show: (value) => (value.length === 0 ? "none" : value.join(",")),
};

/** `key=value`, repeated or separated by commas; in an environment variable also a JSON object. */
export const mapping: ValueType<Readonly<Record<string, string>>> = {
  placeholder: "key=value",
  isSwitch: false,
  fromTexts: (texts) => Object.fromEntries(texts.flatMap(readMapping)),
  fromConfig: (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Error("expected a map of texts");
    }
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)]));
  },
  show: (value) => {
    const entries = Object.entries(value).map(([key, one]) => `${key}=${one}`);
    return entries.length === 0 ? "none" : entries.join(",");
  },
};

function readMapping(given: string): [string, string][] {
  if (given.trim().startsWith("{")) return Object.entries(mapping.fromConfig(JSON.parse(given)));
  // A comma starts a new pair only if a pair follows, so that values may contain commas.
  const pairs = given.split(/,(?=[^,=]+=)/).filter((pair) => pair !== "");
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) throw new Error(`expected key=value, got ${quoted(pair)}`);
    return [pair.slice(0, at).trim(), pair.slice(at + 1)];
  });
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
  for (const unit of ["h", "m", "s"]) {
    const size = unitMs[unit] ?? 1;
    if (valueMs >= size && valueMs % size === 0) return `${valueMs / size}${unit}`;
  }
  return valueMs === 0 ? "0" : `${valueMs}ms`;
}
