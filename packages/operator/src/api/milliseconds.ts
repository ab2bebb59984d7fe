const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration as our resource types have them, such as `30s`, in ms; they refuse all else. */
export function milliseconds(text: string): number {
  const [, digits = "0", unit = "s"] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  return Number(digits) * (unitMs[unit] ?? 0);
}
