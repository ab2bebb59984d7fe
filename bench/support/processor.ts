import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Linux's counters of a process, in the units of the results. */

/** Since the process began. */
export interface CpuTime {
  /** Of all its threads. */
  readonly busyMs: number;
  /** Time in which its main thread was ready to run but other threads used its core. */
  readonly waitedMs: number;
}

export function cpuTime(pid: number): CpuTime {
  let busyMs = 0;
  let waitedMs = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [busyNs = 0, waitedNs = 0] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8")
      .split(" ")
      .map(Number);
    busyMs += busyNs / 1e6;
    if (thread === String(pid)) waitedMs = waitedNs / 1e6;
  }
  return { busyMs, waitedMs };
}

export interface ProcessMemory {
  readonly rssMb: number;
  /** The peak since `resetPeakMemory`. */
  readonly peakRssMb: number;
  /** Anonymous pages, which are not shared with other processes of the same image. */
  readonly privateMb: number;
}

export function processMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1];
    if (kilobytes === undefined) throw new Error(`/proc/${pid}/status has no ${name}`);
    return Number(kilobytes) / 1024;
  };
  return { rssMb: megabytes("VmRSS"), peakRssMb: megabytes("VmHWM"), privateMb: megabytes("RssAnon") };
}

/** Restarts `peakRssMb` from the present RSS. */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** One core for the measured process, another for everything else. */
export interface CorePlan {
  readonly measured: number | undefined;
  readonly load: number | undefined;
  /** For the results: how processes were kept apart, or why not. */
  readonly description: string;
}

export function planCores(): CorePlan {
  const [measured, load] = allowedCores();
  const hasTaskset = spawnSync("taskset", ["--version"]).status === 0;
  if (!hasTaskset || load === undefined || measured === undefined) {
    const why = hasTaskset ? "this machine has one core" : "there is no taskset";
    const description = `nothing pinned, as ${why}: what is measured shares its core with what measures`;
    return { measured: undefined, load: undefined, description };
  }
  return {
    measured,
    load,
    description: `what is measured pinned to core ${measured}, all else to core ${load}`,
  };
}

/** Keeps this process, which only waits and counts, off the core of the measured process. */
export function pinSelf(core: number | undefined): void {
  if (core === undefined) return;
  const { status } = spawnSync("taskset", [
    "--all-tasks",
    "--cpu-list",
    "--pid",
    String(core),
    String(process.pid),
  ]);
  if (status !== 0) throw new Error(`taskset could not move this process to core ${core}`);
}

/** Lets this process, and the processes it starts from now on, use every core. */
export function unpinSelf(): void {
  const cores = readFileSync("/sys/devices/system/cpu/online", "utf8").trim();
  spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", cores, String(process.pid)]);
}

const priority = -15;

/**
 * Lets these processes run before everything else on the machine, for measurements beside other work. False where this user may not.
 */
export function prioritize(pids: readonly number[]): boolean {
  try {
    for (const pid of pids) {
      // Linux has a priority for each thread, which new ones take over. It counts within a session, and that has one of its own.
      for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), priority);
      const ofSession = `/proc/${pid}/autogroup`;
      if (existsSync(ofSession)) writeFileSync(ofSession, String(priority));
    }
    return true;
  } catch {
    return false;
  }
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  return list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** What all cores of the machine have done since boot, in ticks. */
export interface MachineTime {
  readonly total: number;
  readonly idle: number;
}

export function machineTime(): MachineTime {
  const [, ...fields] = readFileSync("/proc/stat", "utf8").split("\n", 1).join().trim().split(/\s+/);
  // user nice system idle iowait irq softirq steal; what follows is counted in the first two already.
  const ticks = fields.slice(0, 8).map(Number);
  return { total: ticks.reduce((sum, each) => sum + each, 0), idle: (ticks[3] ?? 0) + (ticks[4] ?? 0) };
}

/** The share of the time between two readings in which the cores were busy. */
export function busyShare(before: MachineTime, after: MachineTime): number {
  const total = after.total - before.total;
  return total === 0 ? 0 : 1 - (after.idle - before.idle) / total;
}
