import { readdirSync, readFileSync } from "node:fs";
import { getHeapSpaceStatistics } from "node:v8";
import { Gauge, type Registry } from "prom-client";
import type { Sample } from "./metrics-text.js";
import { externalBytes, totalHeapBytes, usedHeapBytes } from "./memory/heap.js";
import { residentBytes } from "./memory/resident-bytes.js";
import { nextTurn } from "./scheduling/event-loop.js";
import { ScrapedCounter } from "./scraped-counter.js";

type Samples = Iterable<Sample>;

/**
 * CPU, memory, files, heap and event loop of the process, under prom-client's names. All are read when Prometheus scrapes. prom-client's own
 * metrics also have the pauses of the garbage collector and percentiles of the event loop's lag, for which node keeps an observer, a timer of
 * 10 ms and a large histogram: too much for a small sidecar.
 */
export function processMetrics(registry: Registry): void {
  const registers = [registry];
  const gauge = (
    name: string,
    help: string,
    read: () => number | Samples,
    labelNames: string[] = [],
  ): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        const value = read();
        this.reset();
        if (typeof value === "number") this.set(value);
        else for (const { labels, value: each } of value) this.set(labels ?? {}, each);
      },
    });
  };
  const cpu = (name: string, help: string, micros: () => number): void => {
    new ScrapedCounter({ name, help, registers }, () => [{ labels: {}, value: micros() / 1e6 }]);
  };

  cpu("process_cpu_user_seconds_total", "Seconds of user CPU time.", () => process.cpuUsage().user);
  cpu("process_cpu_system_seconds_total", "Seconds of system CPU time.", () => process.cpuUsage().system);
  cpu("process_cpu_seconds_total", "Seconds of user and system CPU time.", () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  });
  gauge("process_start_time_seconds", "When the process started, in seconds since the epoch.", () =>
    Math.round(performance.timeOrigin / 1_000),
  );
  gauge("process_resident_memory_bytes", "Resident memory.", residentBytes);
  gauge("process_virtual_memory_bytes", "Virtual memory.", () => fromProc("VmSize"));
  gauge("process_heap_bytes", "Size of the data segment of the process.", () => fromProc("VmData"));
  // Read once: it is needed most when no file can be opened any more, to read it.
  const limit = maxFiles();
  gauge("process_open_fds", "Open file descriptors.", () => openFiles(limit));
  gauge("process_max_fds", "Limit of open file descriptors.", () => limit);
  gauge("nodejs_heap_size_total_bytes", "Size of V8's heap.", totalHeapBytes);
  gauge("nodejs_heap_size_used_bytes", "Memory in use of V8's heap.", usedHeapBytes);
  gauge("nodejs_external_memory_bytes", "Memory of objects outside of V8's heap.", externalBytes);
  for (const [what, field] of [
    ["total", "space_size"],
    ["used", "space_used_size"],
    ["available", "space_available_size"],
  ] as const)
    gauge(
      `nodejs_heap_space_size_${what}_bytes`,
      `Memory of each space of V8's heap, ${what}.`,
      () =>
        getHeapSpaceStatistics().map((space) => ({
          labels: { space: space.space_name.slice(0, -"_space".length) },
          value: space[field],
        })),
      ["space"],
    );
  gauge(
    "nodejs_active_resources_total",
    "Resources that keep the event loop alive.",
    () => process.getActiveResourcesInfo().length,
  );
  gauge(
    "nodejs_active_resources",
    "Resources that keep the event loop alive, by type.",
    () => countsOf(process.getActiveResourcesInfo()),
    ["type"],
  );
  gauge(
    "nodejs_version_info",
    "1, with the version of node.",
    () => [{ labels: versionLabels(), value: 1 }],
    ["version", "major", "minor", "patch"],
  );
  eventLoopLag(registers);
}

/** What the program is: 1, with its version and that of node. */
export function buildInfo(registry: Registry, name: string, version: string): void {
  new Gauge({
    name,
    help: "1, with the version of the program and that of node.",
    labelNames: ["version", "nodejs"],
    registers: [registry],
  }).set({ version, nodejs: process.version }, 1);
}

function eventLoopLag(registers: Registry[]): void {
  new Gauge({
    name: "nodejs_eventloop_lag_seconds",
    help: "Lag of the event loop while Prometheus scrapes.",
    registers,
    async collect() {
      const startedMs = performance.now();
      await nextTurn();
      this.set((performance.now() - startedMs) / 1_000);
    },
  });
}

function countsOf(types: readonly string[]): Samples {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return Array.from(counts, ([type, value]) => ({ labels: { type }, value }));
}

function versionLabels(): Readonly<Record<string, string>> {
  const [major = "", minor = "", patch = ""] = process.versions.node.split(".");
  return { version: process.version, major, minor, patch };
}

/** A line of /proc/self/status, in bytes; 0 where there is none. */
function fromProc(name: string): number {
  return numberIn("/proc/self/status", `\n${name}:`) * 1_024;
}

function maxFiles(): number {
  return numberIn("/proc/self/limits", "\nMax open files");
}

/** The number after these words. Without a regular expression, whose code would stay in memory. */
function numberIn(file: string, words: string): number {
  try {
    const text = readFileSync(file, "latin1");
    const at = text.indexOf(words);
    return at < 0 ? 0 : Number.parseInt(text.slice(at + words.length).trimStart(), 10);
  } catch {
    return 0;
  }
}

/** @param limit which is reached where there is no descriptor left to look with */
function openFiles(limit: number): number {
  try {
    // One is that of the directory.
    return readdirSync("/proc/self/fd").length - 1;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EMFILE" ? limit : 0;
  }
}
