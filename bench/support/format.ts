import type { Spread } from "./statistics.js";

/** Three digits that count, and no more: what comes after them differs from run to run. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function range({ median, min, max }: Spread): string {
  return `${digits(median)} (${digits(min)}–${digits(max)})`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

export function bytesText(bytes: number): string {
  if (bytes >= 1_000_000) return `${digits(bytes / 1_000_000)} MB`;
  return bytes >= 1000 ? `${digits(bytes / 1000)} KB` : `${bytes} B`;
}
