import { fail } from "./rule-failure.js";
import { type Value } from "./value.js";

/** Converts a value for `cat` and `substr`: null is "", and lists, objects and booleans fail. */
export function toText(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value);
  if (value === null) return "";
  return typeof value === "bigint" ? "0" : fail("text can't be made of a list, an object or a boolean");
}

/** The shortest digits that denote the number, never with an exponent. */
export function numberText(number: number): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const text = String(number);
  const exponentAt = text.indexOf("e");
  return exponentAt < 0
    ? text
    : withoutExponent(text.slice(0, exponentAt), Number(text.slice(exponentAt + 1)));
}

function withoutExponent(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace("-", "").replace(".", "");
  // JavaScript writes exponents with one digit before the point, and only if the point moves beyond the digits.
  if (exponent > 0) return sign + digits.padEnd(exponent + 1, "0");
  return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
}
