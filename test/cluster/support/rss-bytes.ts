import { readFileSync } from "node:fs";

/** Resident memory of a process now. */
export function rssBytes(pid: number): number {
  return statusBytes(pid, "VmRSS");
}

/** What of it is of no file: the rest, mostly node's binary, does not count where a container's memory is short. */
export function anonymousBytes(pid: number): number {
  return statusBytes(pid, "RssAnon");
}

function statusBytes(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const line = status.split("\n").find((each) => each.startsWith(`${field}:`)) ?? "";
  return Number(/(\d+) kB$/.exec(line)?.[1] ?? Number.NaN) * 1024;
}
