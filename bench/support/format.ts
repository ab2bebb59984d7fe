import type { Spread } from "./statistics.js";

/** Three significant digits: the others differ from run to run. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size >= 1 || size === 0 ? value.toFixed(2) : value.toFixed(1 - Math.floor(Math.log10(size)));
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
