import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { encodeDocument, isJsonObject, type FlagDocument, type JsonObject } from "@bunting/protocol";
import { agentSettings } from "../scripts/images/image-entrypoint.js";
import { makeFlagSet, type FlagSet } from "./fixtures/flag-set.js";
import type { EvaluationCounts, EvaluationLoadHandlers } from "./load/evaluation-load.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { bytesText, digits, range } from "./support/format.js";
import { startAgent } from "./support/start-agent.js";
import { startProxy, watchedFile } from "./support/start-proxy.js";
import { countParameter } from "./support/parameters.js";
import { processMemory, resetPeakMemory, type CorePlan } from "./support/processor.js";
import { median, spread } from "./support/statistics.js";

export const agentMemoryCase: BenchCase = {
  name: "agent-memory",
  method:
    "The shipped bundle under the V8 flags of the image's entrypoint, pinned to one core, gets its flags from the shipped proxy; both are restarted for each run. Idle is measured 5 s " +
    "after the agent became ready. Then 25 updates of one flag each arrive while 8 callers over gRPC and 8 over OFREP evaluate as fast as they get answers; the peak " +
    "is the kernel's high-water mark of the RSS (VmHWM). Private is anonymous memory (RssAnon); the rest is mostly node's binary, which sidecars of the same image share.",
  run: runAgentMemory,
};

interface MemoryRun {
  readonly idleRssMb: number;
  readonly idlePrivateMb: number;
  readonly loadedPeakRssMb: number;
  /** When the load ended. */
  readonly loadedRssMb: number;
  readonly loadedPrivateMb: number;
  readonly evaluations: EvaluationCounts;
  readonly loadSeconds: number;
}

const concurrency = 8;
const updates = 25;

async function runAgentMemory({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const flags = countParameter(parameters, "flags", isQuick ? 100 : 1_000);
  const runs = countParameter(parameters, "runs", isQuick ? 1 : 5);
  const flagSet = makeFlagSet(flags);
  const bytes = Buffer.byteLength(encodeDocument(flagSet.document));
  const timing = isQuick ? { idleMs: 500, updateEveryMs: 40 } : { idleMs: 5_000, updateEveryMs: 240 };
  const samples: MemoryRun[] = [];
  for (let run = 1; run <= runs; run++) {
    samples.push(await measureOnce(flagSet, cores, timing));
    progress(
      `run ${run} of ${runs}: ${JSON.stringify(samples.at(-1), (_, value: unknown) => (typeof value === "number" ? Number(digits(value)) : value))}`,
    );
  }
  const rate = median(
    samples.map(({ evaluations, loadSeconds }) => (evaluations.grpc + evaluations.ofrep) / loadSeconds),
  );
  return {
    setup: [
      `${flags.toLocaleString("en")} flags (${bytesText(bytes)})`,
      `V8 flags \`${agentSettings().nodeFlags.join(" ")}\``,
      `${runs} runs`,
      `about ${Math.round(rate / 100) * 100} evaluations a second under load`,
      cores.description,
    ],
    tables: [table(samples)],
    targets: targets(samples),
    warnings: [],
    invalid: [],
    samples,
  };
}

/** Node 24 and 26 take more than Node 20: docs/memory.md says for what. */
function targets(samples: readonly MemoryRun[]): CaseOutcome["targets"] {
  const limits =
    Number.parseInt(process.versions.v8, 10) < 12
      ? { idle: 50, idlePrivate: 14, peak: 65, loadedPrivate: 24 }
      : { idle: 58, idlePrivate: 15, peak: 77, loadedPrivate: 28 };
  const target = (what: string, limit: number, of: (run: MemoryRun) => number) => ({
    what: `${what}: median`,
    limit,
    measured: median(samples.map(of)),
    unit: "MB",
  });
  return [
    target("RSS idle", limits.idle, (run) => run.idleRssMb),
    target("private memory idle", limits.idlePrivate, (run) => run.idlePrivateMb),
    target("peak RSS under updates and evaluations", limits.peak, (run) => run.loadedPeakRssMb),
    target("private memory at the end of the load", limits.loadedPrivate, (run) => run.loadedPrivateMb),
  ];
}

function table(samples: readonly MemoryRun[]): CaseOutcome["tables"][number] {
  const row = (what: string, of: (run: MemoryRun) => number): string[] => [
    what,
    range(spread(samples.map(of))),
  ];
  return {
    title: "Memory of the agent's process",
    columns: ["", "MB: median (min–max)"],
    rows: [
      row("RSS idle", (run) => run.idleRssMb),
      row("of it private", (run) => run.idlePrivateMb),
      row("peak RSS under load", (run) => run.loadedPeakRssMb),
      row("RSS at the end of the load", (run) => run.loadedRssMb),
      row("of it private", (run) => run.loadedPrivateMb),
    ],
  };
}

interface Timing {
  readonly idleMs: number;
  readonly updateEveryMs: number;
}

async function measureOnce(
  { document, keysByKind }: FlagSet,
  cores: CorePlan,
  timing: Timing,
): Promise<MemoryRun> {
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  const processes: { stop(): Promise<void> }[] = [];
  try {
    const publish = watchedFile(folder);
    publish(document);
    const proxy = await startProxy(path.join(folder, "watched"), cores.load);
    processes.push(proxy.process);
    const sources = JSON.stringify([
      { uri: `127.0.0.1:${proxy.port}`, provider: "grpc", selector: "default/bench" },
    ]);
    const agent = await startAgent(["--sources", sources], cores.measured);
    processes.push(agent.process);
    await agent.untilReady();
    const keys = Object.values(keysByKind).flat();
    const booleanKeys = keys.filter((key) => isBoolean(document.flags[key]));
    await delay(timing.idleMs);
    const idle = processMemory(agent.process.pid);
    resetPeakMemory(agent.process.pid);
    const script = await bundle("load/evaluation-load.ts", "proxy");
    const load = new ChildProcess<EvaluationLoadHandlers>({
      name: "evaluation load",
      script,
      core: cores.load,
    });
    processes.push(load);
    const startedMs = performance.now();
    await load.call("start", {
      grpcPort: agent.grpcPort,
      ofrepPort: agent.ofrepPort,
      concurrency,
      booleanKeys,
      keys,
    });
    for (let update = 1; update <= updates; update++) {
      await delay(timing.updateEveryMs);
      publish(withUpdate(document, keys[0], update));
    }
    await untilUpdated(agent.ofrepPort, keys[0], updates);
    const loaded = processMemory(agent.process.pid);
    const evaluations = await load.call("stop", undefined);
    return {
      idleRssMb: idle.rssMb,
      idlePrivateMb: idle.privateMb,
      loadedPeakRssMb: loaded.peakRssMb,
      loadedRssMb: loaded.rssMb,
      loadedPrivateMb: loaded.privateMb,
      evaluations,
      loadSeconds: (performance.now() - startedMs) / 1000,
    };
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves once the agent serves the update with this number. */
async function untilUpdated(ofrepPort: number, key = "", update: number): Promise<void> {
  const until = performance.now() + 20_000;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${ofrepPort}/ofrep/v1/evaluate/flags/${key}`, {
      method: "POST",
      body: "{}",
    });
    const { metadata } = (await response.json()) as { metadata?: { update?: number } };
    if (metadata?.update === update) return;
    if (performance.now() > until) throw new Error(`update ${update} did not reach the agent within 20 s`);
    await delay(50);
  }
}

function withUpdate(document: FlagDocument, key = "", update: number): FlagDocument {
  const flag = document.flags[key] as JsonObject;
  const metadata = { ...(flag["metadata"] as JsonObject), update };
  return { ...document, flags: { ...document.flags, [key]: { ...flag, metadata } } };
}

function isBoolean(flag: unknown): boolean {
  const variants = isJsonObject(flag as JsonObject) ? (flag as JsonObject)["variants"] : undefined;
  return Object.values((variants ?? {}) as JsonObject).every((value) => typeof value === "boolean");
}
