import type { VersionName } from "../src/management/status/status-view.js";

const numbers = new Intl.NumberFormat("en-GB");

/** 9,500 */
export function count(value: number): string {
  return numbers.format(value);
}

/** "1 topic", "2 topics" */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** "12 s", "4 min 12 s", "3 h 05 min", "6 d 2 h" */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** For ages that are looked at in passing: "just now", "40 s", "12 min", "3 h", "6 d" */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10 || 5} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** "2.5 ms", "84 ms", "1.2 s", "40 s" */
export function span(ms: number): string {
  if (ms < 9.95) return `${(Math.round(ms * 10) / 10).toString()} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms);
}

/** "84 MiB" */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  const kibibytes = value / 1_024;
  if (kibibytes < 1_024) return `${short(kibibytes)} KiB`;
  const mebibytes = kibibytes / 1_024;
  return mebibytes < 1_024 ? `${short(mebibytes)} MiB` : `${short(mebibytes / 1_024)} GiB`;
}

/** "14:07:09" */
export function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** "generation 7, resourceVersion 8812" or, where there are none, as for files, "#0123abcd" */
export function versionText({ generation, resourceVersion, digest }: VersionName): string {
  const names = [
    ...(generation === undefined ? [] : [`generation ${generation}`]),
    ...(resourceVersion === undefined ? [] : [`resourceVersion ${resourceVersion}`]),
  ];
  return names.length > 0 ? names.join(", ") : `#${digest}`;
}

function short(value: number): string {
  return value < 9.95 ? value.toFixed(1) : String(Math.round(value));
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
