import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What the kernel counts for a container, in bytes and seconds: kubelet, kubectl top and the limit go by it. */
export interface ContainerUsage {
  readonly limitBytes: number;
  /** What counts against the limit: memory and page cache. */
  readonly usageBytes: number;
  /** usageBytes without page cache that is inactive: what the kubelet reports as the working set. */
  readonly workingSetBytes: number;
  /** Memory without page cache. */
  readonly rssBytes: number;
  /** What the kernel holds for the container: sockets, page tables, stacks, entries of directories. */
  readonly kernelBytes: number;
  /** Page cache that was read more than once, and therefore counts as working set. */
  readonly activeFileBytes: number;
  /** What no kernel can take back: rssBytes and kernelBytes. */
  readonly unreclaimableBytes: number;
  readonly cpuSeconds: number;
}

/** The most that a container took while something was done, of each kind. */
export interface PeakUsage extends ContainerUsage {
  /** Processors, on average. */
  readonly cores: number;
}

/** @param containerId as Pods report it: containerd://… */
export function containerUsage(containerId: string): ContainerUsage {
  const id = containerId.replace(/^.*:\/\//, "");
  const memory = groupOf("/sys/fs/cgroup/memory/kubepods", id);
  const cpu = groupOf("/sys/fs/cgroup/cpuacct/kubepods", id);
  const usageBytes = numberIn(memory, "memory.usage_in_bytes");
  const stat = readFileSync(path.join(memory, "memory.stat"), "utf8");
  const counted = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1]);
  const rssBytes = counted("total_rss");
  const kernelBytes = numberIn(memory, "memory.kmem.usage_in_bytes");
  return {
    limitBytes: numberIn(memory, "memory.limit_in_bytes"),
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - counted("total_inactive_file")),
    rssBytes,
    kernelBytes,
    activeFileBytes: counted("total_active_file"),
    unreclaimableBytes: rssBytes + kernelBytes,
    cpuSeconds: numberIn(cpu, "cpuacct.usage") / 1e9,
  };
}

/** Looks at containers ten times a second while something is done. */
export async function peakUsages(
  containerIds: readonly string[],
  work: () => Promise<void>,
): Promise<PeakUsage[]> {
  const over = new AbortController();
  const looking = containerIds.map((id) => look(id, over.signal));
  try {
    await work();
  } finally {
    over.abort();
  }
  return Promise.all(looking);
}

async function look(containerId: string, signal: AbortSignal): Promise<PeakUsage> {
  const first = containerUsage(containerId);
  const sinceMs = performance.now();
  let peak = first;
  while (!signal.aborted) {
    const now = containerUsage(containerId);
    peak = {
      ...now,
      usageBytes: Math.max(peak.usageBytes, now.usageBytes),
      workingSetBytes: Math.max(peak.workingSetBytes, now.workingSetBytes),
      rssBytes: Math.max(peak.rssBytes, now.rssBytes),
      kernelBytes: Math.max(peak.kernelBytes, now.kernelBytes),
      activeFileBytes: Math.max(peak.activeFileBytes, now.activeFileBytes),
      unreclaimableBytes: Math.max(peak.unreclaimableBytes, now.unreclaimableBytes),
    };
    await delay(100);
  }
  const seconds = (performance.now() - sinceMs) / 1000;
  return { ...peak, cores: (peak.cpuSeconds - first.cpuSeconds) / seconds };
}

function groupOf(directory: string, id: string): string {
  const found = findDirectory(directory, id);
  if (found === undefined) throw new Error(`there is no group of container ${id}`);
  return found;
}

function findDirectory(directory: string, name: string): string | undefined {
  const folders = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const folder of folders) {
    const each = path.join(directory, folder.name);
    const found = folder.name === name ? each : findDirectory(each, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function numberIn(group: string, file: string): number {
  return Number(readFileSync(path.join(group, file), "utf8"));
}
