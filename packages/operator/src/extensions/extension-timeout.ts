import type { ExtensionSpec } from "../api/extension.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000 };
const defaultMs = 2_000;
const bounds = { minMs: 1, maxMs: 10_000 };

/** How long an extension has for its answer. */
export function timeoutMsOf({ timeout }: Pick<ExtensionSpec, "timeout">): number {
  const [, amount, unit = ""] = /^(\d{1,6})(ms|s)$/.exec(timeout) ?? [];
  const ms = amount === undefined ? defaultMs : Number(amount) * (unitMs[unit] ?? 1);
  return Math.min(bounds.maxMs, Math.max(bounds.minMs, ms));
}
